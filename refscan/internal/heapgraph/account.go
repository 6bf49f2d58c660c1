package heapgraph

import (
	"math/bits"
	"sort"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// rest charges what no reference that is understood leads to: nothing alive may be missing from the
// sums.
func (a *attributor) rest() {
	node := a.runtimeRoot("runtime.(unattributed)") // the report leaves it out if there is nothing
	for w, left := range a.open {
		for ; left != 0; left &= left - 1 {
			obj := uint32(64*w + bits.TrailingZeros64(left))
			if obj >= a.g.staticBase() {
				break
			}
			size := int64(a.g.m.SpanOf(obj).ElemSize)
			node.Objects++
			node.Bytes += size
			node.UntypedObjects++
			node.UntypedBytes += size
			if a.watch != nil {
				a.watch.charge(node, claim{kind: refNone, obj: obj, objects: 1, bytes: size, untyped: true})
			}
		}
	}
	// Blocks of the tiny allocator hold gaps.
	gaps := a.runtimeRoot("runtime.(gaps of the tiny allocator)")
	for i := range a.g.m.Spans {
		s := &a.g.m.Spans[i]
		for obj := s.FirstObj; s.Tiny && obj < s.FirstObj+s.NElems; obj++ {
			if b := a.tiny.at(obj); b.starts != 0 && !a.tool.has(obj) {
				gaps.Bytes += int64(16 - bits.OnesCount16(b.bytes))
			}
		}
	}
}

// totals compares what was charged with the collector's mark bits.
func (a *attributor) totals() Totals {
	var t Totals
	g := a.g
	for i := range g.m.Spans {
		s := &g.m.Spans[i]
		var live, attributed, missed, extra int
		for k := uint32(0); 64*k < s.NElems; k++ {
			first, n := s.FirstObj+64*k, min(s.NElems-64*k, 64)
			marked, allocated := s.Marks64(k)
			reached := g.marked.part(first, n)
			charged := reached &^ a.tool.part(first, n)
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
	t.TypedBytes = t.AttributedBytes
	for _, n := range a.nodes {
		if n.Root.class != classTool {
			t.TypedBytes -= n.untypedBytes()
		}
	}
	return t
}

// Missed calls visit for each object that the collector found alive and the marking did not reach.
func (g *Graph) Missed(visit func(s *goruntime.Span, index uint32)) {
	for i := range g.m.Spans {
		s := &g.m.Spans[i]
		for k := uint32(0); k < s.NElems; k++ {
			if obj := s.FirstObj + k; s.Marked(k) && !g.marked.has(obj) {
				visit(s, k)
			}
		}
	}
}

// untypedBytes sums up a subtree.
func (n *Node) untypedBytes() int64 {
	sum := n.UntypedBytes
	for _, c := range n.Children {
		sum += c.untypedBytes()
	}
	return sum
}

// report drops the tool's own roots and everything that holds nothing.
func (a *attributor) report() []*Node {
	var out []*Node
	for _, n := range a.nodes {
		if n.Root.class != classTool && n.prune() {
			out = append(out, n)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		x, y := out[i], out[j]
		if c := x.Root.compare(y.Root); c != 0 {
			return c < 0
		}
		return x.Type < y.Type
	})
	return out
}

// prune removes empty subtrees; false if nothing is left.
func (n *Node) prune() bool {
	kept := n.Children[:0]
	for _, c := range n.Children {
		if c.prune() {
			kept = append(kept, c)
		}
	}
	n.Children = kept
	return n.Objects > 0 || n.Bytes > 0 || len(n.Children) > 0
}
