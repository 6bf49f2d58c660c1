package dominance

import "github.com/leakgate/leakgate/internal/engine/memory/offheap"

// A Graph is a directed graph: a list of successors for each vertex. The lists lie in one array, in
// any order, so that several goroutines can write them at once, each into a stretch of its own. The
// graph lies outside of the heap, and has to be released.
type Graph struct {
	first []uint32 // by vertex: 1 + where its list begins in to, 0 if it has no edges
	to    []uint32 // the last of each list has the bit lastEdge
}

// lastEdge marks the end of a list. Vertices have lower numbers.
const lastEdge = 1 << 31

// NewGraph returns a graph with room for a number of edges. It takes memory only for edges that are
// written. It returns false if vertices or edges are too many to be numbered.
func NewGraph(vertices, edges uint64) (*Graph, bool) {
	if vertices >= lastEdge || edges >= 1<<32-1 {
		return nil, false
	}
	g := &Graph{first: offheap.Make(int(vertices))}
	made := false
	defer func() {
		if !made { // the second list was refused
			g.Release()
		}
	}()
	g.to = offheap.Make(int(edges))
	made = true
	return g, true
}

// Release gives the memory back.
func (g *Graph) Release() {
	offheap.Free(g.first)
	offheap.Free(g.to)
	*g = Graph{}
}

// successors returns the successors of a vertex, the last of which has the bit lastEdge. Other
// lists may follow.
func (g *Graph) successors(v uint32) []uint32 {
	if at := g.first[v]; at != 0 {
		return g.to[at-1:]
	}
	return nil
}

// A Writer writes the lists of some vertices of a graph, one after the other.
type Writer struct {
	Graph  *Graph
	At     uint32 // index of the next edge among all edges
	vertex uint32 // whose list is being written
	start  uint32 // of that list
}

// Begin begins the list of a vertex.
func (w *Writer) Begin(v uint32) { w.vertex, w.start = v, w.At }

// Edge adds an edge to the list.
func (w *Writer) Edge(to uint32) {
	w.Graph.to[w.At] = to
	w.At++
}

// End ends the list. Without it, or without an edge, the vertex has no list.
func (w *Writer) End() {
	if w.At > w.start {
		w.Graph.to[w.At-1] |= lastEdge
		w.Graph.first[w.vertex] = w.start + 1
	}
}
