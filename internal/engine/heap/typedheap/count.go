package typedheap

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/memory/objset"
)

// Totals are sums over heap objects, in size-class bytes.
type Totals struct {
	LiveObjects, LiveBytes             int64
	AttributedObjects, AttributedBytes int64 // reached
	TypedBytes                         int64 // of these; Heap.Totals does not count them
	MissedObjects, MissedBytes         int64
	ExtraBytes                         int64
}

// Totals compares the objects that the marking reached with the collector's mark bits. Objects of
// without count only in the sums of missed objects; nil: there are none.
func (h *Heap) Totals(without objset.Set) Totals {
	var t Totals
	for i := range h.Model.Spans {
		s := &h.Model.Spans[i]
		var live, attributed, missed, extra int
		for k := uint32(0); 64*k < s.NElems; k++ {
			first, n := s.FirstObj+64*k, min(s.NElems-64*k, 64)
			marked, allocated := s.Marks64(k)
			reached := h.Live.Marked.Bits(first, n)
			charged := reached
			if without != nil {
				charged &^= without.Bits(first, n)
			}
			attributed += bits.OnesCount64(charged)
			extra += bits.OnesCount64(charged &^ allocated)
			missed += bits.OnesCount64(marked &^ reached)
			// Alive at the last collection, or allocated since then and in use.
			live += bits.OnesCount64(charged&allocated | marked&^reached)
		}
		for _, sum := range [...]struct {
			n              int
			objects, bytes *int64
		}{
			{live, &t.LiveObjects, &t.LiveBytes},
			{attributed, &t.AttributedObjects, &t.AttributedBytes},
			{missed, &t.MissedObjects, &t.MissedBytes},
		} {
			*sum.objects += int64(sum.n)
			*sum.bytes += int64(sum.n) * int64(s.ElemSize)
		}
		t.ExtraBytes += int64(extra) * int64(s.ElemSize)
	}
	return t
}
