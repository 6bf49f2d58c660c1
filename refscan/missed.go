package refscan

import (
	"cmp"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// missedTypes lists the objects that the scan missed, by type, most objects first. It leaves out
// those that dead reports. No reference to a missed object is known, so its type is known only
// where the allocator recorded it (go1.26 and go1.27 runtime/malloc.go: objects with pointers that
// are larger than 512 bytes).
//
//go:norace
func missedTypes(graph *typedheap.Heap, dead func(*goruntime.Span, uint32) bool) []*Node {
	byType := make(map[string]*Node)
	graph.Missed(func(span *goruntime.Span, index uint32) {
		if dead(span, index) {
			return
		}
		name := graph.AllocatedType(span, span.FirstObj+index)
		n := byType[name]
		if n == nil {
			n = &Node{Type: name}
			byType[name] = n
		}
		n.Objects++
		n.Bytes += int64(span.ElemSize)
	})
	var all []*Node
	for _, n := range byType {
		all = append(all, n)
	}
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(cmp.Compare(all[j].Objects, all[i].Objects), cmp.Compare(all[i].Type, all[j].Type)) < 0
	})
	return all
}
