package heapgraph

import (
	"reflect"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// deduce types objects that no reference types, or types in part, by what they are made of. It looks at all of them before it
// changes one, and then at those that this has typed in part, so that the result does not depend on their order.
func (in *inferrer) deduce() {
	in.spans(func(o *offerer, s *goruntime.Span) {
		if s.NoScan || !s.HasSmallMask() {
			return
		}
		for k := uint32(0); k < s.NElems; k++ {
			o.deduced(s.FirstObj + k)
		}
	})
	in.deducing = true
	first := in.by[0]
	for found := true; found; {
		found = false
		for _, o := range in.by {
			for _, d := range o.deductions {
				first.set(d.obj, d.ty, in.g.m.SpanOf(d.obj))
			}
			found = found || len(o.deductions) > 0
			o.deductions = o.deductions[:0]
		}
		in.drain()
		for _, o := range in.by {
			for _, obj := range o.partly {
				first.deduced(obj)
			}
			o.partly = o.partly[:0]
		}
	}
}

// deduced keeps what an object is made of for later.
func (o *offerer) deduced(obj uint32) {
	if ty := o.g.deduced(obj); ty.typ != 0 {
		o.deductions = addOffer(o.deductions, obj, ty)
	}
}

// deduced returns what an object is made of: a closure, if it is untyped, or an array or a struct around what is known of it. The
// zero typing stands for neither.
func (g *Graph) deduced(obj uint32) typing {
	ty := g.typing.of(obj)
	if ty.full || ty.form == formInternal || !g.marked.has(obj) {
		return typing{} // as nearly all are
	}
	s := g.m.SpanOf(obj)
	if s.NoScan || !s.HasSmallMask() {
		return typing{}
	}
	var t *Type
	f := formClosure
	switch {
	case ty.typ == 0:
		if t = g.types.closure(word(s.Bytes(obj), 0)); t != nil {
			t = g.closureObject(t, s, obj, 0)
		}
	case ty.form == formOne && ty.rank <= rankStatic && !g.nameless(): // all types that have the part must be known
		t, f = g.around(g.types.at(ty.typ), uint64(ty.off), s, obj)
	}
	if t == nil || t.Size > s.ElemSize || (f != formArray && g.fits(t, formOne, s, obj, 0) != fitsAll) {
		return typing{}
	}
	return typing{typ: t.index, form: f, rank: rankInterior, full: true}
}

// around returns what an object is that has a part of a type at an offset: an array of it, or a struct with it; nil if it could be both.
func (g *Graph) around(part *Type, off uint64, s *goruntime.Span, obj uint32) (*Type, form) {
	whole := g.types.enclosing(enclosure{part.origin, off, s.SmallMask(obj), s.ElemSize})
	if part.Size > 0 && off%part.Size == 0 && part.Size <= s.ElemSize/2 && g.fits(part, formArray, s, obj, 0) == fitsAll {
		if whole != nil {
			return nil, formNone
		}
		return part, formArray
	}
	return whole, formOne
}

// An enclosure is a question of enclosing.
type enclosure struct {
	part       debuginfo.TypeID
	off        uint64
	mask, size uint64
}

// enclosing returns the only struct type of the program that has a part of a given type at an offset, these pointer words, and
// objects of this size; nil if there are none or several.
func (k *typeMaker) enclosing(e enclosure) *Type {
	if e.part == 0 {
		return nil
	}
	if whole, ok := k.enclosures[e]; ok {
		return whole
	}
	k.survey()
	var whole *Type
	for _, st := range k.structs {
		if st.class != e.size || !k.hasPart(k.names.Type(st.id), e.off, e.part) {
			continue
		}
		if t := k.byID(st.id); t.words != nil && t.mask == e.mask {
			if whole != nil {
				whole = nil
				break
			}
			whole = t
		}
	}
	k.enclosures[e] = whole
	return whole
}

// A structType is a struct type and the size of small objects that hold one.
type structType struct {
	id    debuginfo.TypeID
	class uint64
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
func (k *typeMaker) hasPart(d debuginfo.Type, off uint64, part debuginfo.TypeID) bool {
	for range maxDepth {
		if off == 0 && d.ID == part {
			return true
		}
		switch d.Kind {
		case reflect.Array:
			elem := k.names.Type(d.Elem)
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
			d, off = k.names.Type(inner.Type), off-uint64(inner.Offset)
		default:
			return false
		}
	}
	return false
}
