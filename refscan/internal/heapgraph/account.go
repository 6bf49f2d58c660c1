package heapgraph

import (
	"math/bits"
	"sort"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// rest charges what no reference that is understood leads to: nothing alive may be missing from the
// sums.
func (a *attributor) rest() {
	const name = "runtime.(unattributed)"
	node := &Node{Name: name, Root: &Root{Kind: KindOther, Name: name, Package: "runtime", class: classRest}}
	for i := range a.g.m.Spans {
		s := &a.g.m.Spans[i]
		for k := uint32(0); k < s.NElems; k++ {
			obj := s.FirstObj + k
			if a.open.remove(obj) {
				node.Objects++
				node.Bytes += int64(s.ElemSize)
				node.UntypedObjects++
				node.UntypedBytes += int64(s.ElemSize)
				if a.watch != nil {
					a.watch.charge(node, claim{kind: claimLeft, obj: obj, objects: 1, bytes: int64(s.ElemSize), untyped: true})
				}
			}
		}
	}
	if node.Objects > 0 {
		a.nodes = append(a.nodes, node)
	}
	// Blocks of the tiny allocator hold gaps.
	slack := int64(0)
	for i := range a.g.m.Spans {
		s := &a.g.m.Spans[i]
		for obj := s.FirstObj; s.Tiny && obj < s.FirstObj+s.NElems; obj++ {
			if b := a.tiny.at(obj); b.starts != 0 && !a.tool.has(obj) {
				slack += int64(16 - bits.OnesCount16(b.bytes))
			}
		}
	}
	if slack > 0 {
		const name = "runtime.(gaps of the tiny allocator)"
		a.nodes = append(a.nodes, &Node{Name: name, Bytes: slack, Root: &Root{Kind: KindOther, Name: name, Package: "runtime", class: classRest}})
	}
}

// totals compares what was charged with the collector's mark bits.
func (a *attributor) totals() Totals {
	var t Totals
	g := a.g
	for i := range g.m.Spans {
		s := &g.m.Spans[i]
		size := int64(s.ElemSize)
		for k := uint32(0); k < s.NElems; k++ {
			obj := s.FirstObj + k
			marked, reached := s.Marked(k), g.marked.has(obj)
			switch {
			case reached && a.tool.has(obj):
			case reached:
				t.AttributedObjects++
				t.AttributedBytes += size
				if !s.Allocated(k) {
					t.ExtraObjects++
					t.ExtraBytes += size
				} else {
					// Alive at the last collection, or allocated since then and in use.
					t.LiveObjects++
					t.LiveBytes += size
				}
			case marked:
				t.LiveObjects++
				t.LiveBytes += size
				t.MissedObjects++
				t.MissedBytes += size
			}
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
