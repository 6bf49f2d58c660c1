package typedheap

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// offer offers a typing to the object that an edge leads to.
//
//go:norace
func (o *offerer) offer(e *heaptype.Edge, s *goruntime.Span, obj uint32) {
	if s == nil {
		o.static(*e)
		return
	}
	if s.Tiny && e.Layout != heaptype.LayoutInternal {
		return // blocks of the tiny allocator hold several values; references type them one by one
	}
	if e.Type == nil && e.Layout != heaptype.LayoutInternal {
		return
	}
	start := s.Addr(obj)
	size := s.ElemSize
	if s.HasHeader() {
		start += 8
		size -= 8
	}
	if e.To < start {
		return
	}
	ty := typing.Typing{Layout: e.Layout, Grounds: typing.Grounds{Confidence: e.Confidence}}
	if e.Layout == heaptype.LayoutInternal {
		ty.Full = true
		o.set(obj, ty, s)
		return
	}
	if !s.NoScan && !s.HasSmallMask() {
		o.record(obj, s) // first: walks by other typings would be in vain
	}
	t := e.Type
	if old, _ := o.typings.Load(obj); old.Full && old.Type == t.Index && old.Layout == e.Layout && old.Confidence >= e.Confidence && old.Offset == 0 {
		return // as for most references
	}
	if e.Layout == heaptype.LayoutClosure && e.To == start {
		t = o.types.ClosureObject(t, s, obj, e.Fn)
	}
	off := e.To - start
	if off > 1<<32-1 {
		return
	}
	ty.Type, ty.Offset = t.Index, uint32(off)
	if place(&ty, t, s, obj, size) {
		o.set(obj, ty, s)
	}
}

// place says how a typing accounts for an object, where a reference to ty.Offset suggests the type
// t and ty.Layout; false if it cannot be. size is that of the object without its header.
//
//go:norace
func place(ty *typing.Typing, t *heaptype.Type, s *goruntime.Span, obj uint32, size uint64) bool {
	off := uint64(ty.Offset)
	switch ty.Layout {
	case heaptype.LayoutMap, heaptype.LayoutChan, heaptype.LayoutTrie:
		ty.Full = true
		return off == 0
	case heaptype.LayoutString:
		ty.Offset, ty.Full = 0, true
		return s.NoScan
	case heaptype.LayoutArray:
		if t.Size == 0 {
			return false
		}
		if off > 0 && off%t.Size == 0 && fits(t, heaptype.LayoutArray, s, obj, 0) != misfit {
			off = 0 // a slice of a slice: the array begins with the object
		}
		ty.Offset = uint32(off)
		if size-off < t.Size {
			return false
		}
		switch fits(t, heaptype.LayoutArray, s, obj, off) {
		case misfit:
			// A slice of an array field, say: it tells what a part of the object is.
			ty.Confidence = heaptype.FromInterior
			return !t.HasPointers() && !s.NoScan
		case fitsAll:
			ty.Full = off == 0
		}
		return true
	}
	if t.Size == 0 || t.Size > size-off {
		return false
	}
	found := fits(t, heaptype.LayoutValue, s, obj, off)
	ty.Full = found == fitsAll
	if off > 0 {
		ty.Confidence = heaptype.FromInterior
	}
	return found != misfit
}

// set gives an object a typing if it improves on the current one: at once, or after the round if
// the round walks the object.
//
//go:norace
func (o *offerer) set(obj uint32, ty typing.Typing, s *goruntime.Span) {
	for {
		old, word := o.typings.Load(obj)
		if !typing.Improves(o.types, ty, old, s.ElemSize) {
			return
		}
		if o.in.round.Has(obj) {
			o.later = addOffer(o.later, obj, ty)
			return
		}
		if o.typings.Replace(obj, word, ty) {
			break
		}
	}
	if ty.Layout == heaptype.LayoutInternal {
		o.marks.Scan(s, obj) // no round walks it
		return
	}
	if o.in.deducing && !ty.Full && ty.Layout == heaptype.LayoutValue {
		o.partly = append(o.partly, obj)
	}
	if (!s.NoScan || ty.Layout == heaptype.LayoutMap) && o.in.next.AddShared(obj) {
		if len(o.found) < o.in.dense {
			o.found = append(o.found, obj)
		}
	}
}

// static records the typing that a reference gives to compiler-made data, such as the array behind
// a package-level slice, for the end of the round.
//
//go:norace
func (o *offerer) static(e heaptype.Edge) {
	if c := o.in.data.Carve(e); c != nil && o.in.out.Anonymous.Improves(c) {
		o.statics = append(o.statics, *c)
	}
}

// fit says how a type agrees with what the allocator knows of an object's pointers.
type fit uint8

const (
	misfit   fit = iota // the type has a pointer where the object has none
	fitsSome            // the object has pointers that the type does not account for
	fitsAll
)

// fits compares a type, or an array of it, at an offset of an object with the object's pointer
// bits. Larger objects carry their type, which outranks any other, and are not compared.
//
//go:norace
func fits(t *heaptype.Type, f heaptype.Layout, s *goruntime.Span, obj uint32, off uint64) fit {
	if s.NoScan {
		if t.HasPointers() {
			// the runtime allocates some of its own records without telling the collector
			return fitsSome
		}
		return fitsAll
	}
	if !s.HasSmallMask() {
		return fitsSome
	}
	have := s.SmallMask(obj)
	if t.Words == nil && t.HasPointers() {
		return fitsSome
	}
	if off%8 != 0 {
		if t.HasPointers() {
			return misfit
		}
		return fitsSome
	}
	want := uint64(0)
	n := uint64(1)
	if f == heaptype.LayoutArray {
		n = (s.ElemSize - off) / t.Size
	}
	if t.Size%8 != 0 && t.HasPointers() {
		return misfit
	}
	for k := uint64(0); k < n && t.HasPointers(); k++ {
		want |= t.Mask << ((off + k*t.Size) / 8) // what is beyond 64 words falls off
	}
	if f == heaptype.LayoutArray {
		// The array may be shorter than its size class: what counts is that both agree up to the
		// last pointer of the object.
		switch {
		case have&^want != 0:
			return misfit
		case want == have:
			return fitsAll
		}
		// Extra wanted words must all lie behind the last pointer there is.
		if missing := want &^ have; have != 0 && missing&(1<<(64-bits.LeadingZeros64(have))-1) != 0 {
			return misfit
		}
		return fitsAll
	}
	switch {
	case want&^have != 0:
		return misfit
	case want == have:
		return fitsAll
	}
	return fitsSome
}
