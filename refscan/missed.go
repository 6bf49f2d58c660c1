package refscan

import (
	"cmp"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// A tally is a number of objects and their bytes.
type tally struct{ objects, bytes int64 }

// What freezing itself drops, of any size: it takes all processors but one away, whose timers move
// to the list of the one that is left (go1.26 and go1.27 runtime/proc.go, p.destroy, and time.go,
// timers.take), and it maps memory, for which the record of mappings may get a larger table
// (syscall/syscall_unix.go, mmapper).
const (
	timerList    = "[]runtime.timerWhen"
	mappingTable = "[]noalg.map.group[*uint8][]uint8"
)

// missedTypes lists the objects that the scan missed, by type, most objects first. It leaves out
// and counts those that died before the scan: that dead reports, or that freezing dropped. No
// reference to a missed object is known, so its type is known only where the allocator recorded it
// (go1.26 and go1.27 runtime/malloc.go: objects with pointers that are larger than 512 bytes).
//
//go:norace
func missedTypes(graph *typedheap.Heap, dead func(*goruntime.Span, uint32) bool) (all []*Node, died tally) {
	byType := make(map[string]*Node)
	graph.Missed(func(span *goruntime.Span, index uint32) {
		name := graph.AllocatedType(span, span.FirstObj+index)
		if name == timerList || name == mappingTable || dead(span, index) {
			died.objects++
			died.bytes += int64(span.ElemSize)
			return
		}
		n := byType[name]
		if n == nil {
			n = &Node{Type: name}
			byType[name] = n
		}
		n.Objects++
		n.Bytes += int64(span.ElemSize)
	})
	for _, n := range byType {
		all = append(all, n)
	}
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(cmp.Compare(all[j].Objects, all[i].Objects), cmp.Compare(all[i].Type, all[j].Type)) < 0
	})
	return all, died
}
