package typedheap

import (
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// deduce types objects that references do not type, or type in part, by their contents. It examines
// all of them before it changes any, and then those that this has typed in part, so that the result
// does not depend on their order.
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
	first := in.offerers[0]
	for found := true; found; {
		found = false
		for _, o := range in.offerers {
			for _, d := range o.deductions {
				first.set(d.obj, d.ty, in.m.SpanOf(d.obj))
			}
			found = found || len(o.deductions) > 0
			o.deductions = o.deductions[:0]
		}
		in.drain()
		for _, o := range in.offerers {
			for _, obj := range o.partly {
				first.deduced(obj)
			}
			o.partly = o.partly[:0]
		}
	}
}

// deduced records the deduction for an object, to be set later.
//
//go:norace
func (o *offerer) deduced(obj uint32) {
	if ty := o.deduction(obj); ty.Type != 0 {
		o.deductions = addOffer(o.deductions, obj, ty)
	}
}

// deduction returns the typing that an object's contents imply: a closure, if the object is
// untyped, else an array or a struct around its typed part. The zero typing stands for neither.
//
//go:norace
func (o *offerer) deduction(obj uint32) typing.Typing {
	ty := o.typings.Of(obj)
	if ty.Full || ty.Layout == heaptype.LayoutInternal || !o.in.out.Live.Marked.Has(obj) {
		return typing.Typing{} // as nearly all are
	}
	s := o.m.SpanOf(obj)
	if s.NoScan || !s.HasSmallMask() {
		return typing.Typing{}
	}
	var t *heaptype.Type
	f := heaptype.LayoutClosure
	switch {
	case ty.Type == 0:
		if t = o.types.Closure(heaptype.Word(s.Bytes(obj), 0)); t != nil {
			t = o.types.ClosureObject(t, s, obj, 0)
		}
	case ty.Layout == heaptype.LayoutValue && ty.Confidence <= heaptype.FromStatic:
		t, f = o.around(o.types.At(ty.Type), uint64(ty.Offset), s, obj)
	}
	if t == nil || t.Size > s.ElemSize || (f != heaptype.LayoutArray && fits(t, heaptype.LayoutValue, s, obj, 0) != fitsAll) {
		return typing.Typing{}
	}
	return typing.Typing{Type: t.Index, Layout: f, Grounds: typing.Grounds{Confidence: heaptype.FromInterior, Full: true}}
}

// around returns the type of an object that has a part of a type at an offset: an array of such
// parts, or a struct that contains it; nil if it could be both.
func (o *offerer) around(part *heaptype.Type, off uint64, s *goruntime.Span, obj uint32) (*heaptype.Type, heaptype.Layout) {
	whole := o.types.Enclosing(heaptype.EnclosingQuery{Part: part.Origin, Offset: off, Mask: s.SmallMask(obj), Size: s.ElemSize})
	if part.Size > 0 && off%part.Size == 0 && part.Size <= s.ElemSize/2 && fits(part, heaptype.LayoutArray, s, obj, 0) == fitsAll {
		if whole != nil {
			return nil, heaptype.LayoutNone
		}
		return part, heaptype.LayoutArray
	}
	return whole, heaptype.LayoutValue
}
