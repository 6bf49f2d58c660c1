package typedheap

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/heaptype"
	"github.com/leakgate/leakgate/internal/engine/objset"
	"github.com/leakgate/leakgate/internal/engine/typing"
)

// Totals are sums over heap objects, in size-class bytes.
type Totals struct {
	LiveObjects, LiveBytes             int64
	AttributedObjects, AttributedBytes int64 // reached
	MissedBytes, ExtraBytes            int64
	MissedObjects, ExtraObjects        int64
}

// Totals compares what the marking reached with the collector's mark bits. Objects of without are
// in none of the sums but what was missed; nil: there are none.
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
			{extra, &t.ExtraObjects, &t.ExtraBytes},
		} {
			*sum.objects += int64(sum.n)
			*sum.bytes += int64(sum.n) * int64(s.ElemSize)
		}
	}
	return t
}

// Count counts the objects of a type: those that a reference of a type that is asks for leads to.
// That is no less than an attribution charges, as objects of such types, to any nodes, since it
// calls each object by its typing (package attribute, group), whoever it charges it to; what it
// charges to a holder as untyped, and to the tool, is counted here, too.
//
// It returns false if that cannot be told by typings: for small values, which share blocks and are
// called by the type of the reference; for entries of maps that have no objects of their own, which are
// called by the type of the map; and for the bytes of maps, channels and the like, which have tables.
func (h *Heap) Count(is func(typ string) bool) (objects, bytes int64, ok bool) {
	if h.Types.WithoutDWARF() || h.Confused {
		return 0, 0, false
	}
	for i := range h.Types.Len() {
		t := h.Types.At(int32(i))
		if t == nil {
			continue
		}
		if CouldBeSmall(t) && AnyForm(is, t.Name) || t.Elem != 0 && is(h.Types.Names.TypeHead(t.Elem).Name) && h.Types.HasInlineEntries(t) {
			return 0, 0, false
		}
	}
	const layouts = int32(heaptype.LayoutInternal) + 1
	known := make([]int8, int32(h.Types.Len())*layouts) // 0: not yet
	tables := false
	for i := range h.Model.Spans {
		s := &h.Model.Spans[i]
		if s.Tiny {
			continue
		}
		n := int64(0)
		for k := uint32(0); 64*k < s.NElems; k++ {
			first := s.FirstObj + 64*k
			for marked := h.Live.Marked.Bits(first, min(s.NElems-64*k, 64)); marked != 0; marked &= marked - 1 {
				ty := h.Typings.Of(first + uint32(bits.TrailingZeros64(marked)))
				if ty.Type == 0 || ty.Layout == heaptype.LayoutInternal {
					continue
				}
				answer := &known[ty.Type*layouts+int32(ty.Layout)]
				if *answer == 0 {
					*answer = -1
					if is(typing.RefName(h.Types, ty)) {
						*answer = 1
						tables = tables || ty.Layout >= heaptype.LayoutMap && ty.Layout <= heaptype.LayoutChan
					}
				}
				if *answer > 0 {
					n++
				}
			}
		}
		objects += n
		bytes += n * int64(s.ElemSize)
	}
	if tables {
		bytes = -1
	}
	return objects, bytes, true
}

// CouldBeSmall reports whether values of a type may lie in spans of the tiny allocator's blocks, alone
// in a block or with others.
func CouldBeSmall(t *heaptype.Type) bool { return t.Size <= BlockSize && !t.HasPointers() }

// BlockSize is the size of such blocks (runtime/malloc.go, maxTinySize).
const BlockSize = 16

// AnyForm reports whether is asks for any reference that leads to values of a type.
func AnyForm(is func(typ string) bool, name string) bool {
	return is("*"+name) || is("[]"+name) || is(name) || is("string")
}
