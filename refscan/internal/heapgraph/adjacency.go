package heapgraph

import "github.com/leakgate/leakgate/refscan/internal/offheap"

// adjacency says which vertices the edges of each vertex lead to. Lists may lie in any order, so that several goroutines can write them, each into a
// stretch of its own. It is not on the heap, and has to be given back.
type adjacency struct {
	first []uint32 // by vertex: 1 + where its list begins in to, 0 if it has no edges
	to    []uint32 // the last of each list has the bit lastEdge
}

// lastEdge ends a list. There are fewer vertices.
const lastEdge = 1 << 31

// newAdjacency makes room; what is not used takes none. It returns false if vertices or edges are too many to be numbered.
func newAdjacency(vertices, edges uint64) (*adjacency, bool) {
	if vertices >= lastEdge || edges >= 1<<32-1 {
		return nil, false
	}
	return &adjacency{first: offheap.Make(int(vertices)), to: offheap.Make(int(edges))}, true
}

func (a *adjacency) release() {
	offheap.Free(a.first)
	offheap.Free(a.to)
	*a = adjacency{}
}

// A listWriter writes the lists of some vertices, one after the other, into a stretch of the adjacency.
type listWriter struct {
	a      *adjacency
	at     uint32 // where the next edge goes
	vertex uint32 // whose list is under way
	start  uint32 // of that list
}

// begin begins the list of a vertex.
func (w *listWriter) begin(v uint32) { w.vertex, w.start = v, w.at }

func (w *listWriter) edge(to uint32) {
	w.a.to[w.at] = to
	w.at++
}

// end ends the list.
func (w *listWriter) end() {
	if w.at > w.start {
		w.a.to[w.at-1] |= lastEdge
		w.a.first[w.vertex] = w.start + 1
	}
}

// list returns where the edges of a vertex lead, the last with the bit lastEdge.
func (a *adjacency) list(v uint32) []uint32 {
	if at := a.first[v]; at != 0 {
		return a.to[at-1:]
	}
	return nil
}
