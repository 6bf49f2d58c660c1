// Package edges lays out who refers to whom in a heap: one array of references, which queries
// follow where they would walk over the heap again and again.
//
// To follow an edge is to read four bytes next to those of the edge before. To walk over an object
// is to read its type and its memory, and to look up the object that each word leads to. The array
// has four bytes for each object and four for each reference: 7 to 9 bytes an object in heaps of
// six shapes, whose objects have one reference on average, or little less or more.
//
//   - What roots hold (package holding) and paths (package pathfind) follow the references that
//     types tell. They lay them out, each for itself: they leave out different ones, and mark them
//     differently. If memory is short they walk.
//   - Retained sizes (package retain) follow the pointers that the collector does.
//   - Attribution (package attribute) walks. It gathers the references of each object once, and
//     needs more of them than where they lead: by which field, and how much of an array a slice
//     reaches. Edges would take a second walk, or several times the memory.
//   - The search for types (package typedheap) walks, since edges are laid out by its result.
package edges

import "github.com/leakgate/leakgate/internal/engine/memory/offheap"

// A Graph is a directed graph: a list of successors for each vertex. The lists lie in one array, in
// any order, so that several goroutines can write them at once, each into a stretch of its own. The
// graph lies outside of the heap, and has to be released.
type Graph struct {
	first  []uint32 // by vertex: 1 + where its list begins in to, 0 if it has no edges
	to     []uint32 // the last of each list has the bit Last
	memory []uint32 // of both, or of first alone once to has grown
	grown  []uint32 // then that of to
}

// Last marks the end of a list. Vertices have lower numbers.
const Last = 1 << 31

// Marks are bits for notes on an edge, if the vertices of a graph have numbers below them, as those
// of Lay have.
const (
	Mark1 = 1 << (28 + iota)
	Mark2
	Mark3
	Marks = Mark1 | Mark2 | Mark3
)

// New returns a graph with room for a number of edges. It takes memory only for edges that are
// written. It returns false if vertices or edges are too many to be numbered.
func New(vertices, edges uint64) (*Graph, bool) {
	if vertices >= Last || edges >= 1<<32-1 {
		return nil, false
	}
	memory := offheap.Make(int(vertices + edges))
	return &Graph{first: memory[:vertices], to: memory[vertices:], memory: memory}, true
}

// Release gives the memory back; nil: there is none.
func (g *Graph) Release() {
	if g != nil {
		offheap.Free(g.memory)
		offheap.Free(g.grown)
		*g = Graph{}
	}
}

// Len is how many vertices there are.
func (g *Graph) Len() int { return len(g.first) }

// Room is how many edges there is room for.
func (g *Graph) Room() int { return len(g.to) }

// From returns the successors of a vertex, the last of which has the bit Last. Other lists may
// follow.
func (g *Graph) From(v uint32) []uint32 {
	if at := g.first[v]; at != 0 {
		return g.to[at-1:]
	}
	return nil
}

// A Writer writes the lists of some vertices of a graph, one after the other. If several write at
// once, each needs room for all its edges.
type Writer struct {
	Graph  *Graph
	At     uint32 // index of the next edge among all edges
	vertex uint32 // whose list is being written
	start  uint32 // of that list
	full   bool   // there was no room for some edge

	_ [0]func() // is not compared: the comparison would be code
}

// Begin begins the list of a vertex.
func (w *Writer) Begin(v uint32) { w.vertex, w.start = v, w.At }

// Edge adds an edge to the list.
func (w *Writer) Edge(to uint32) {
	if int(w.At) == len(w.Graph.to) {
		w.grow()
	}
	w.Graph.to[w.At] = to
	w.At++
}

// End ends the list. Without it, or without an edge, the vertex has no list.
func (w *Writer) End() {
	if w.At > w.start {
		w.Graph.to[w.At-1] |= Last
		w.Graph.first[w.vertex] = w.start + 1
	}
}

// grow makes room for more edges. If there is none, the graph is of no use: the rest is written
// over its beginning.
func (w *Writer) grow() {
	g := w.Graph
	n := 2 * int64(len(g.to))
	if w.full = w.full || n >= 1<<32-1 || !offheap.Fits(4*n); w.full {
		w.At, w.start = 0, 0
		return
	}
	to := offheap.Make(int(n))
	copy(to, g.to)
	offheap.Free(g.grown)
	g.to, g.grown = to, to
}
