package typedheap

import (
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// A Slice is the range of an array's elements that a slice reaches, from Start to End, as offsets
// in bytes from the array's first element. The slice's capacity ends at CapEnd.
type Slice struct{ Start, End, CapEnd uint64 }

// SliceOf returns which elements of an array a reference to it reaches, and the array's memory from
// its first element on; false if the reference is no slice of the array.
func (h *Heap) SliceOf(e *heaptype.Edge, s *goruntime.Span, array uint32) (slice Slice, mem []byte, ok bool) {
	if e.Layout != heaptype.LayoutArray || e.Size == 0 || e.Type == nil {
		return slice, nil, false
	}
	ty := h.Typings.Of(array)
	if ty.Layout != heaptype.LayoutArray || ty.Type != e.Type.Index || !ty.Full {
		return slice, nil, false
	}
	mem, addr := heaptype.Payload(s, array)
	first := addr + uint64(ty.Offset)
	if mem == nil || e.To < first || (e.To-first)%e.Type.Size != 0 {
		return slice, nil, false
	}
	mem = mem[ty.Offset:]
	slice.Start = e.To - first
	slice.CapEnd = slice.Start + e.Size
	slice.End = slice.CapEnd - uint64(e.Slack)*e.Type.Size
	return slice, mem, slice.Start <= slice.End && slice.CapEnd <= uint64(len(mem))
}
