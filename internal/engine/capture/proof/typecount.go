package proof

import (
	"context"
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/capture/liveread"
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A TypeCount is the number of objects that may be of one type: never fewer than a scan finds, and
// often more, since garbage counts, and so do objects of other types whose pointers are at the
// same places.
type TypeCount struct {
	// Is reports whether objects count that references of that type lead to; see
	// refscan.Node.Type. It must not be true for closures.
	Is func(reference string) bool
	// Name identifies Is: all TypeCounts with the same Name have an equivalent Is.
	Name string
	Count
}

// typesWithin reports whether each type has no more objects than its bound allows. It reads the
// allocator's records of where objects have pointers while the program runs: two words or so for
// each object, and once more after a collection if there was too much garbage.
//
// It cannot tell if objects of the type have no pointers, or if other types' have them at the same
// places; if the objects of such a reference are arrays, maps, channels or closures; or if
// elements of some map, which count like objects, are of that type. Objects count that were
// allocated for a value of the type. Those that have one as a part do not, nor memory for another
// type that the program takes for one, by package unsafe.
func typesWithin(ctx context.Context, x *debuginfo.Index, all []*TypeCount) (within bool, err error) {
	layout, err := layoutOf(x)
	if err != nil {
		return false, nil // a scan has other ways
	}
	shapes := make([][]liveread.Shape, len(all))
	for i, c := range all {
		if shapes[i] = shapesFor(x, c); shapes[i] == nil {
			return false, nil
		}
	}
	if countShapes(layout, shapes, all) {
		return true, nil
	}
	if err := snapshot.CollectNow(ctx); err != nil {
		return false, err
	}
	return countShapes(layout, shapes, all), nil
}

// countShapes fills in the counts, and reports whether they are within their bounds.
func countShapes(layout *liveread.Layout, shapes [][]liveread.Shape, all []*TypeCount) bool {
	within := true
	for i, c := range all {
		var err error
		c.Objects, c.Bytes, err = layout.CountShapes(shapes[i])
		within = within && err == nil && c.within()
	}
	return within
}

// namedShapes caches the results of shapesOf, by the names of the counts. Captures take turns.
var namedShapes struct {
	x       *debuginfo.Index
	answers map[string][]liveread.Shape
}

func shapesFor(x *debuginfo.Index, c *TypeCount) []liveread.Shape {
	if namedShapes.x != x {
		namedShapes.x, namedShapes.answers = x, make(map[string][]liveread.Shape)
	}
	shapes, known := namedShapes.answers[c.Name]
	if !known {
		shapes = shapesOf(x, c.Is)
		namedShapes.answers[c.Name] = shapes
	}
	return shapes
}

// maxShapes bounds how many types of one name are looked for, such as local types of several
// functions.
const maxShapes = 8

// shapesOf returns the shapes of all types of the program whose objects count. It returns nil if
// there are none, or if the allocator's records cannot tell such objects from others.
func shapesOf(x *debuginfo.Index, is func(reference string) bool) (shapes []liveread.Shape) {
	inline := func(t debuginfo.Type) bool {
		key, val := x.TypeHead(t.Key), x.TypeHead(t.Elem)
		return t.Kind == reflect.Map && is(val.Name) && heaptype.HasInlineEntries(key.Kind, val.Kind)
	}
	for id := debuginfo.TypeID(1); int(id) <= x.NumTypes(); id++ {
		t := x.TypeHead(id)
		switch {
		case is("[]" + t.Name), inline(t), t.Kind == reflect.Pointer && is("*"+t.Name):
			return nil
		case t.Kind == reflect.Pointer: // is is asked about the type that it leads to
			continue
		case !is("*"+t.Name) && !is(t.Name):
			continue
		case t.Kind != reflect.Struct && t.Kind != reflect.Array, heaptype.IsTrie(t.Name), partOfOther(t.Name):
			return nil
		}
		s, pointers := shapeOf(x, id)
		if !pointers || len(shapes) == maxShapes {
			return nil
		}
		shapes = append(shapes, s)
	}
	return shapes
}

// partOfOther reports whether the runtime allocates objects that are known by a type as parts of
// larger ones, or outside of the heap: time.newTimer returns the beginning of a runtime.timeTimer
// (go1.26 and go1.27 runtime/time.go).
func partOfOther(name string) bool {
	pkg := symbol.Package(name)
	return pkg == "runtime" || pkg == "time" || strings.HasPrefix(pkg, "internal/")
}

// shapeOf returns the shape of a type, and whether it has pointers.
func shapeOf(x *debuginfo.Index, id debuginfo.TypeID) (s liveread.Shape, pointers bool) {
	t := x.Type(id)
	s = liveread.Shape{Size: uintptr(t.Size), Known: ^uint64(0), Hash: t.RuntimeHash}
	add := func(part liveread.Shape, is bool, at uint64) {
		pointers = pointers || is
		s.Mask |= part.Mask << (at / 8) // what is beyond 64 words falls off
		s.Known &^= ^part.Known << (at / 8)
	}
	switch t.Kind {
	case reflect.Map, reflect.Chan, reflect.Func, reflect.String, reflect.Slice, reflect.UnsafePointer:
		s.Mask, pointers = 1, true
	case reflect.Pointer:
		if !heaptype.NotInHeap(x, t.Elem) {
			s.Mask, pointers = 1, true
		}
	case reflect.Interface:
		// The first word leads to the type; types made at run time count it as a pointer (go1.26
		// and go1.27 reflect/type.go, addTypeBits).
		s.Mask, s.Known, pointers = 2, ^uint64(1), true
	case reflect.Array:
		elem, is := shapeOf(x, t.Elem)
		for i := range min(t.Len, 64) {
			add(elem, is, uint64(i)*uint64(elem.Size))
		}
	case reflect.Struct:
		for _, f := range t.Fields {
			part, is := shapeOf(x, f.Type)
			add(part, is, uint64(f.Offset))
		}
	}
	return s, pointers
}
