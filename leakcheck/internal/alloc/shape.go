package alloc

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/refscan"
)

// Generic functions share their code for type arguments of one shape: types with the same
// underlying type, or any pointers. In such code a composite literal of a generic type has the
// shape as its type: an Entry[ID,string] may be Entry[go.shape.uint64,go.shape.string] (go1.26,
// go1.27: cmd/compile/internal/noder).

const shapePrefix = "go.shape."

// ofShape reports whether the objects of a row count for a bound although only the shape of their
// type is known.
func (b *Bound) ofShape(r *row) bool {
	if r.shape == nil {
		return false
	}
	t := b.Selector.Object
	switch {
	case t == nil:
		return b.Selector.Types.Matches(strings.ReplaceAll(cmp.Or(r.slice, r.reference()), shapePrefix, ""))
	case (r.array || r.slice != "") != (t.Kind() == reflect.Slice && t.Name() == ""):
		return false
	case t.Kind() == reflect.Slice && t.Name() == "":
		t = t.Elem()
	}
	return t.PkgPath() == r.shape.PkgPath() && baseName(t) == baseName(r.shape) && baseName(t) != "" && alike(t, r.shape, 0)
}

// baseName is the name of a generic type without its type arguments; "" if a type is none.
func baseName(t reflect.Type) string {
	name, _, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return ""
	}
	return name
}

// alike reports whether the memory layout of a type allows it to have a shape.
func alike(t, shape reflect.Type, depth int) bool {
	const deepest = 8
	if t.Kind() != shape.Kind() || t.Size() != shape.Size() {
		return false
	}
	switch {
	case depth == deepest:
	case t.Kind() == reflect.Array, t.Kind() == reflect.Slice:
		return alike(t.Elem(), shape.Elem(), depth+1)
	case t.Kind() == reflect.Struct:
		if t.NumField() != shape.NumField() {
			return false
		}
		for i := range t.NumField() {
			if !alike(t.Field(i).Type, shape.Field(i).Type, depth+1) {
				return false
			}
		}
	}
	return true
}

// shapeNote explains the names of rows for which only the shapes of type arguments are known.
const shapeNote = "go.shape: the runtime is told only the shape of type arguments; types of one shape count together"

// untoldArguments returns an error if a bound names type arguments, and op allocates objects for
// which only the shapes of type arguments are known. A name does not tell the shape.
func (b *Bound) untoldArguments(rows []*row) error {
	if b.Selector == nil || b.Selector.Object != nil || b.counts(rows).objects > 0 {
		return nil
	}
	for _, r := range rows {
		if r.shape == nil {
			continue
		}
		if name := baseName(r.shape); strings.Contains(b.Selector.Shown, name+"[") {
			return &refscan.UnavailableError{
				Cause:  fmt.Sprintf("op allocates %s, of which the runtime is told but the shape of the type arguments; they may be those of %s", shownName(r.name), b.shown()),
				Remedy: "name the type with Type[*" + name + "[...]]() rather than with TypeNamed",
			}
		}
	}
	return nil
}
