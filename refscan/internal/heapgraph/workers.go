package heapgraph

import "runtime"

// Below these numbers one goroutine does everything, since to start more would take longer: of object slots in the heap, and
// of objects in a round of inferrer. Tests change them.
var (
	smallHeap  uint32 = 1 << 15
	smallRound        = 1 << 11
)

// workers is how many goroutines share the work on this heap.
func (g *Graph) workers() int {
	if g.m.NumObjects < smallHeap || g.nameless() {
		return 1 // without debug information types have the order in which they were met
	}
	return runtime.GOMAXPROCS(0)
}

// together is concurrently, but that one goes on by itself.
func together(n int, work func(i int)) {
	if n == 1 {
		work(0)
		return
	}
	concurrently(n, work)
}
