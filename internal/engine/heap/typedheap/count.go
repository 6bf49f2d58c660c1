package typedheap

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
)

// Totals are sums over heap objects, in size-class bytes.
type Totals struct {
	LiveObjects, LiveBytes             int64
	AttributedObjects, AttributedBytes int64 // reached
	MissedBytes, ExtraBytes            int64
	MissedObjects, ExtraObjects        int64
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
			{extra, &t.ExtraObjects, &t.ExtraBytes},
		} {
			*sum.objects += int64(sum.n)
			*sum.bytes += int64(sum.n) * int64(s.ElemSize)
		}
	}
	return t
}

// Count counts the objects whose references have a type for which is returns true. That is no less
// than an attribution charges to nodes as objects of such types, since it takes the type of each
// object from its typing, too (package attribute, group). Count includes objects that the
// attribution charges to a holder as untyped, or to the tool.
//
// It returns false if typings cannot tell: for small values, which share blocks and have the type
// of the reference; and for map entries that are no objects of their own, which have the type of
// the map. bytes is -1 if there are maps, channels and the like among the objects, since their
// tables are not included.
func (h *Heap) Count(is func(typ string) bool) (objects, bytes int64, ok bool) {
	if h.Confused {
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

// CouldBeSmall reports whether values of a type may lie in blocks of the tiny allocator, alone in a
// block or with others.
func CouldBeSmall(t *heaptype.Type) bool { return t.Size <= BlockSize && !t.HasPointers() }

// BlockSize is the size of such blocks, in bytes (runtime/malloc.go, maxTinySize).
const BlockSize = 16

// AnyForm reports whether is returns true for the type of any reference to values of a type.
func AnyForm(is func(typ string) bool, name string) bool {
	return is("*"+name) || is("[]"+name) || is(name) || is("string")
}
