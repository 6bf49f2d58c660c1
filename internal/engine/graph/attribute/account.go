package attribute

import (
	"math/bits"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/symbol"
)

// chargeUnattributed charges the live objects that no understood reference leads to: the sums must
// include every live object.
func (a *attributor) chargeUnattributed() {
	node := a.runtimeRoot(symbol.Unattributed) // the report omits an empty node
	for w, left := range a.unclaimed {
		for ; left != 0; left &= left - 1 {
			obj := uint32(64*w + bits.TrailingZeros64(left))
			if obj >= a.heap.AnonymousBase() {
				break
			}
			size := int64(a.heap.Model.SpanOf(obj).ElemSize)
			node.Objects++
			node.Bytes += size
			node.UntypedObjects++
			node.UntypedBytes += size
			if a.watch != nil {
				a.watch.Charge(node, Claim{Kind: KindNone, Obj: obj, Objects: 1, Bytes: size, Untyped: true})
			}
		}
	}
	// Blocks of the tiny allocator contain gaps; values of the tool count as gaps, too.
	gaps := a.runtimeRoot(symbol.TinyGaps)
	for i := range a.heap.Model.Spans {
		s := &a.heap.Model.Spans[i]
		for obj := s.FirstObj; s.Tiny && obj < s.FirstObj+s.NElems; obj++ {
			if b := a.tiny.At(obj); b.Starts != 0 && !a.tool.Has(obj) {
				gaps.Bytes += int64(16 - bits.OnesCount16(b.bytes))
			}
		}
	}
}

// totals compares what was charged with the collector's mark bits.
func (a *attributor) totals() typedheap.Totals {
	t := a.heap.Totals(a.tool)
	t.TypedBytes = t.AttributedBytes
	for _, n := range a.nodes {
		if !n.Root.Class.IsTool() {
			t.TypedBytes -= n.untypedBytes()
		}
	}
	return t
}

// report returns the root nodes in order, without the tool's own roots and without empty nodes.
func (a *attributor) report() []*Node {
	var out []*Node
	for _, n := range a.nodes {
		if !n.Root.Class.IsTool() && n.prune() {
			out = append(out, n)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		x, y := out[i], out[j]
		if c := x.Root.Compare(y.Root); c != 0 {
			return c < 0
		}
		return x.Type < y.Type
	})
	return out
}
