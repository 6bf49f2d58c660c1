package alloc

import (
	"cmp"
	"fmt"
	"math/bits"
	"reflect"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// An object is what is known of the type that a selector names, by the type or by its name. Names
// do not tell the kind of types that are declared.
type object struct {
	kind     reflect.Kind // Invalid: unknown
	boxed    string       // kind of a value in an interface if the runtime is not told the type
	array    bool         // the elements of a slice may be in memory that the runtime knows no type of
	variable bool         // for kinds that refer to objects: a variable of that type
}

// objectOf returns what is known of the type that a selector of types is for.
func objectOf(s *request.Selector) (o object) {
	t := s.Object
	switch {
	case t != nil:
		o = object{kind: t.Kind(), variable: strings.HasPrefix(s.Types.Exact(), "*")}
		if o.kind == reflect.Slice {
			o.array = !hasPointers(t.Elem())
		} else if !hasPointers(t) {
			o.boxed = "uint" + strconv.Itoa(8*int(t.Size()))
		}
	case s.Types.Pattern != nil:
		o = objectNamed(s.Types.Pattern.Text)
		o.variable = s.Types.Pointer
	}
	switch o.kind {
	case reflect.String, reflect.Slice:
		o.boxed = o.kind.String()
	}
	return o
}

// kinds are what the names of types with pointers begin with. "*" may also be a wildcard, for types
// of any kind.
var kinds = [...]struct {
	prefix string
	kind   reflect.Kind
}{
	{"[]", reflect.Slice},
	{"map[", reflect.Map},
	{"chan ", reflect.Chan},
	{"chan<- ", reflect.Chan},
	{"<-chan ", reflect.Chan},
	{"*", reflect.Pointer},
	{"func(", reflect.Func},
	{naming.ClosurePrefix, reflect.Func},
	{"interface {", reflect.Interface},
}

func objectNamed(name string) (o object) {
	for _, k := range kinds {
		if strings.HasPrefix(name, k.prefix) {
			o.kind = k.kind
		}
	}
	number := strings.TrimRight(name, "0123456789")
	switch {
	case name == "string":
		o.kind = reflect.String
	case o.kind == reflect.Slice:
		o.array = objectNamed(name[len("[]"):]).kind == reflect.Invalid
	case strings.Contains(" int uint uintptr float complex ", " "+number+" "):
		o.boxed = "uint" + cmp.Or(name[len(number):], strconv.Itoa(bits.UintSize))
	}
	return o
}

// untold names the objects of the selected type if no allocation tells that type; "" for other
// types.
func untold(s *request.Selector) string {
	o := objectOf(s)
	if o.variable {
		return ""
	}
	switch o.kind {
	case reflect.String:
		return "strings"
	case reflect.Chan:
		return "channels"
	case reflect.Func:
		return "closures"
	}
	return ""
}

// untoldOf returns notes on rows whose objects may also be of the bound's type, which the runtime
// is not told.
func (b *Bound) untoldOf(r *recording) (notes []string) {
	if b.Selector == nil {
		return nil
	}
	o := objectOf(b.Selector)
	line, also := interfaceLine(o.boxed), "" // go1.26, go1.27: cmd/compile/internal/walk/convert.go
	switch {
	case o.variable:
	case o.array:
		also = "op.untyped"
	case o.kind == reflect.Map:
		line = headersLine
	}
	for _, n := range r.rows {
		if n.objects <= excess(r.calls, r.collected) || b.in(n) {
			continue
		}
		// An array with room for one element is such an element.
		if b.in(n.twin()) || n.line != "" && (n.line == line || n.line == also) {
			notes = append(notes, fmt.Sprintf("%s: %s allocs/op of %s may be of this type, too; AllAllocs counts them", b.shown(), rate(n.objects, r.calls), shownName(n.name)))
		}
	}
	return notes
}

// hasPointers reports whether values of a type contain pointers.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return t.Kind() > reflect.Complex128
}
