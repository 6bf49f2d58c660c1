package pathfind

import (
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
)

// isBeyond reports whether step k of a path begins at an element of an array that the slices of its
// holder do not reach: one behind their length, as after s = s[:1], or before their start, as after
// s = s[1:]. It returns false if several arrays, or several of their elements, could make the step.
func (p *pathfinder) isBeyond(t *tracedPath, k int, from *root.Entry) bool {
	array, object := t.Steps[k-1].Objects[0], t.Steps[k].Objects[0]
	if len(t.Steps[k-1].Objects) > 1 || len(t.Steps[k].Objects) > 1 {
		return false
	}
	var reached typedheap.Slice
	var elem *heaptype.Type
	var mem []byte // of the array
	sure := true
	merge := func(e heaptype.Edge) {
		if span, to := p.heap.Model.Object(e.To); span != nil && to == array {
			s, all, ok := p.heap.SliceOf(&e, span, array)
			if elem != nil {
				s.Start, s.End = min(s.Start, reached.Start), max(s.End, reached.End)
			}
			reached, elem, mem, sure = s, e.Type, all, sure && ok
		}
	}
	if k == 1 {
		for i := range from.Edges {
			merge(from.Edges[i].Reference(p.heap.Types))
		}
	} else {
		for _, node := range t.Steps[k-2].Objects {
			p.references(node, merge)
		}
	}
	if !sure || elem == nil {
		return false
	}
	within := false
	w := heaptype.Walker{Types: p.heap.Types, Emit: func(e heaptype.Edge) {
		node, ok := p.node(e)
		within = within || ok && node == object
	}}
	w.Elements(elem, mem[reached.Start:reached.End], 0)
	return !within
}
