package leakcheck

import (
	"fmt"
	"reflect"
)

// A Selector says which part of the retained memory a bound is for. It becomes an Option with None,
// MaxObjects or MaxBytes.
type Selector struct {
	kind   selectorKind
	shown  string       // as written in the test
	path   pattern      // Root, Path
	types  typeMatch    // Type, TypeNamed
	object reflect.Type // Type: of the objects
	err    error
}

type selectorKind int

const (
	selectRoot selectorKind = iota + 1
	selectPath
	selectType
	selectTypeNamed
)

// Root selects roots by name, each with everything that it keeps alive: a package variable
// ("example.com/app.sessions"), a variable of a goroutine's function ("example.com/app.Serve.buf"), or a
// function ("example.com/app.Serve": all variables of its frames, and all frames of the goroutines that
// started in it).
//
// The import path may be shortened to its last elements ("app.sessions"). "*" stands for any characters
// but "/", "**" and "..." for any at all. A pattern that no variable or function of the program matches
// fails the test.
func Root(pattern string) Selector {
	p, err := compilePathPattern(pattern)
	return Selector{kind: selectRoot, shown: fmt.Sprintf("Root(%q)", pattern), path: p, err: err}
}

// Path selects by the path from a root, with everything below: "example.com/app.srv.conns[*].buf".
// Elements of slices, arrays and maps are "[*]", map keys "[$key]"; wildcards and short import paths are
// as for Root. A path that ends inside a struct selects all that the struct's fields hold.
func Path(pattern string) Selector {
	p, err := compilePathPattern(pattern)
	return Selector{kind: selectPath, shown: fmt.Sprintf("Path(%q)", pattern), path: p, err: err}
}

// Type selects the heap objects of type T, wherever they are held. T and *T are the same: the objects
// are those that a pointer to T, or an interface with a T in it, refers to. For maps, slices, strings,
// channels and funcs it is what the value refers to. Values that lie inside another object (an element
// of a []T, a field) are no objects of their own and do not count.
func Type[T any]() Selector {
	return selectObjects(reflect.TypeFor[T]())
}

// selectObjects is Type without its type parameter, of which the compiler makes code for each type.
func selectObjects(t reflect.Type) Selector {
	m, err := matchType(t)
	return Selector{kind: selectType, shown: "Type[" + shortName(typeName(t)) + "]()", types: m, object: objectOf(t), err: err}
}

// TypeNamed selects like Type, by the type's name: "example.com/app.Session", "app.*",
// "map[string]*app.Session". Wildcards and short import paths are as for Root. A pattern that no type of
// the program matches fails the test.
func TypeNamed(pattern string) Selector {
	m, err := matchTypeNamed(pattern)
	return Selector{kind: selectTypeNamed, shown: fmt.Sprintf("TypeNamed(%q)", pattern), types: m, err: err}
}

// None demands that nothing on the heap is retained there: no objects.
func (s Selector) None() Bound {
	b := s.MaxObjects(0)
	b.none = true
	return b
}

// MaxObjects allows at most n heap objects.
func (s Selector) MaxObjects(n int64) Bound { return Bound{selector: s}.MaxObjects(n) }

// MaxBytes allows at most n bytes of heap, counted in size classes as the Go heap hands them out.
func (s Selector) MaxBytes(n int64) Bound { return Bound{selector: s}.MaxBytes(n) }

// A Bound limits what a Selector selects. It is an Option of AssertRetained and VerifyTestMain.
type Bound struct {
	selector             Selector
	none                 bool
	maxObjects, maxBytes *int64
	cut                  cutLimit // nil unless MaxRetainedObjects or MaxRetainedBytes is called
}

// MaxObjects also allows at most n heap objects. The last call counts.
func (b Bound) MaxObjects(n int64) Bound {
	b.none = false
	b.maxObjects = &n
	return b
}

// MaxBytes also allows at most n bytes of heap. The last call counts.
func (b Bound) MaxBytes(n int64) Bound {
	b.maxBytes = &n
	return b
}

// String returns the bound as it is written in a test.
func (b Bound) String() string {
	s := b.selector.shown
	switch {
	case b.none:
		s += ".None()"
	case b.maxObjects != nil:
		s += fmt.Sprintf(".MaxObjects(%d)", *b.maxObjects)
	}
	if b.maxBytes != nil {
		s += fmt.Sprintf(".MaxBytes(%d)", *b.maxBytes)
	}
	if b.cut != nil {
		s += b.cut.String()
	}
	return s
}

func (b Bound) apply(r *request) {
	switch {
	case b.selector.kind == 0:
		r.problem("a zero Bound: start with Root, Path, Type or TypeNamed")
	case b.selector.err != nil:
		r.problem("%s: %v", b.selector.shown, b.selector.err)
	case b.maxObjects != nil && *b.maxObjects < 0, b.maxBytes != nil && *b.maxBytes < 0:
		r.problem("%s: a bound cannot be negative", b)
	case b.maxObjects == nil && b.maxBytes == nil && b.cut == nil:
		r.problem("%s: has neither MaxObjects nor MaxBytes", b.selector.shown)
	default:
		if b.cut != nil {
			b.cut.request(r)
		}
		r.bounds = append(r.bounds, &b)
	}
}

// broken reports whether so many objects and bytes are more than the bound allows.
func (b *Bound) broken(objects, bytes int64) bool {
	return b.maxObjects != nil && objects > *b.maxObjects || b.maxBytes != nil && bytes > *b.maxBytes
}
