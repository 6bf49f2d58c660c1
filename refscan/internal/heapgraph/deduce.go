package heapgraph

import (
	"reflect"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// deduce types objects that no reference types, or types in part, by what they are made of; false if there are none. It looks at the
// objects as they are before it changes one, so that the result does not depend on their order.
func (in *inferrer) deduce() bool {
	type deduced struct {
		obj uint32
		ty  typing
		s   *goruntime.Span
	}
	var found []deduced
	g := in.g
	for i := range g.m.Spans {
		s := &g.m.Spans[i]
		if s.NoScan || !s.HasSmallMask() {
			continue
		}
		for k := uint32(0); k < s.NElems; k++ {
			obj := s.FirstObj + k
			ty := g.typing[obj]
			if !g.marked.has(obj) || ty.form == formInternal || ty.full {
				continue
			}
			var t *Type
			f := formOne
			if ty.typ == 0 {
				t, f = g.types.closure(word(s.Bytes(obj), 0)), formClosure
			} else if ty.form == formOne && ty.rank <= rankStatic {
				t, f = g.around(g.types.types[ty.typ], uint64(ty.off), s, obj)
			}
			if t == nil {
				continue
			}
			if f == formClosure {
				t = g.closureObject(t, s, obj, 0)
			}
			if t.Size <= s.ElemSize && (f == formArray || g.fits(t, formOne, s, obj, 0) == fitsAll) {
				found = append(found, deduced{obj, typing{typ: t.index, form: f, rank: rankInterior, full: true}, s})
			}
		}
	}
	for _, d := range found {
		in.set(d.obj, d.ty, d.s)
	}
	in.drain()
	return len(found) > 0
}

// around returns what an object is that has a part of a type at an offset: an array of it, or a struct with it; nil if it could be both.
func (g *Graph) around(part *Type, off uint64, s *goruntime.Span, obj uint32) (*Type, form) {
	whole := g.types.enclosing(part.origin, off, s.SmallMask(obj), s.ElemSize)
	if part.Size > 0 && off%part.Size == 0 && part.Size <= s.ElemSize/2 && g.fits(part, formArray, s, obj, 0) == fitsAll {
		if whole != nil {
			return nil, formNone
		}
		return part, formArray
	}
	return whole, formOne
}

// An enclosure is the answer to a question of enclosing.
type enclosure struct {
	part       debuginfo.TypeID
	off        uint64
	mask, size uint64
	whole      *Type
}

// enclosing returns the only struct type of the program that has a part of a given type at an offset, these pointer words, and
// objects of this size; nil if there are none or several.
func (tt *typeTable) enclosing(part debuginfo.TypeID, off, mask, size uint64) *Type {
	if part == 0 {
		return nil
	}
	for _, e := range tt.enclosures {
		if e.part == part && e.off == off && e.mask == mask && e.size == size {
			return e.whole
		}
	}
	tt.survey()
	e := enclosure{part: part, off: off, mask: mask, size: size}
	for _, id := range tt.structs {
		d := tt.names.Type(id)
		if sizeClass(uint64(d.Size)) != size || !tt.hasPart(d, off, part) {
			continue
		}
		if t := tt.byID(id); t.words != nil && t.mask() == mask {
			if e.whole != nil {
				e.whole = nil
				break
			}
			e.whole = t
		}
	}
	tt.enclosures = append(tt.enclosures, e)
	return e.whole
}

// sizeClass is the size of small objects that hold n bytes (go1.26 and go1.27 internal/runtime/gc/sizeclasses.go).
func sizeClass(n uint64) uint64 {
	switch {
	case n <= 32:
		return alignUp(n, 8)
	case n <= 256:
		return alignUp(n, 16)
	}
	return alignUp(n, 32)
}

// hasPart reports whether values of a type have a part of another type at an offset.
func (tt *typeTable) hasPart(d debuginfo.Type, off uint64, part debuginfo.TypeID) bool {
	for range maxDepth {
		if off == 0 && d.ID == part {
			return true
		}
		switch d.Kind {
		case reflect.Array:
			elem := tt.names.Type(d.Elem)
			if elem.Size <= 0 || off >= uint64(d.Size) {
				return false
			}
			d, off = elem, off%uint64(elem.Size)
		case reflect.Struct:
			inner := debuginfo.Field{Offset: -1}
			for _, f := range d.Fields {
				if at := uint64(f.Offset); f.Offset > inner.Offset && at <= off {
					inner = f
				}
			}
			if inner.Offset < 0 {
				return false
			}
			d, off = tt.names.Type(inner.Type), off-uint64(inner.Offset)
		default:
			return false
		}
	}
	return false
}
