package retain

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/graph/edges"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
)

// A labelling says which labels each vertex has.
type labelling struct {
	lists [][]uint32            // of labels, ascending
	own   func(v uint32) uint32 // the index in lists of the labels of a vertex
}

// unreached stands for in(x) of a vertex that no path has led to yet. Sets are stored with 1 added
// to their number.
const unreached = 0

// An analysis finds out which sets of vertices each vertex of a graph is retained by. Some of its
// memory lies outside of the heap, and has to be released. It is not safe for concurrent use.
//
// A vertex x is retained by a set of vertices if every path from a root to x leads through one of
// them. A node of a report stands for many objects, so that dominators of single objects do not
// tell what cutting the node would free: two elements of a list that share a payload retain it
// together, and neither does alone. So each vertex carries the labels of the sets it belongs to,
// and the analysis computes for every vertex
//
//	in(x) = the labels that each path to x meets before x
//	      = intersection over p -> x of in(p) + own(p)
//
// where own(p) are p's labels. With one label for each vertex this is the textbook's equation for
// dominators (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm). Sets of labels do not
// form a tree as dominators do, since paths may meet two sets in either order, which rules out
// Lengauer-Tarjan and semi-NCA.
//
// Breadth first, in(x) starts as the labels on one shortest path, and shrinks at most that many
// times: labels are nodes of a report, in which recursion is folded, so a list of any length has a
// few. An edge is looked at at most 1 + (labels on a path) times; there is no recursion.
type analysis struct {
	// look is called every some thousand edges, unless it is nil.
	look func()

	graph  *edges.Graph
	labels labelling
	sets   labelSets

	in        []uint32   // by vertex: unreached, or 1 + the number of a set of labels
	level     objset.Set // vertices whose edges are followed
	next      objset.Set // vertices whose edges are followed after those
	list      []uint32   // the first of next, up to dense
	spare     []uint32
	dense     int   // from how many vertices on a level is searched for them
	edgesSeen int64 // edges looked at
	last      union
}

// A union is the set that in(v) and own(v) make together. The zero value is that of an empty set
// and an empty list.
type union struct{ in, own, set uint32 }

// newAnalysis prepares the analysis of a complete graph.
func newAnalysis(g *edges.Graph, labels labelling) *analysis { return newLimited(g, labels, maxCells) }

func newLimited(g *edges.Graph, labels labelling, cells int) *analysis {
	n := g.Len()
	return &analysis{
		graph: g, labels: labels, sets: newLabelSets(cells),
		in: offheap.Make(n), level: objset.New(uint32(n)), next: objset.New(uint32(n)), dense: n/denseShare + smallLevel,
	}
}

// release gives the memory outside of the heap back. The analysis must not be used after that.
func (a *analysis) release() {
	offheap.Free(a.in)
	a.in = nil
}

// addRoot makes a vertex a root: paths to it need no other vertex. run must follow.
func (a *analysis) addRoot(v uint32) {
	if a.in[v] != 1 {
		a.in[v] = 1
		a.push(v)
	}
}

func (a *analysis) push(v uint32) {
	if a.next.Add(v) && len(a.list) < a.dense {
		a.list = append(a.list, v)
	}
}

// A level with smallLevel vertices, and one in denseShare of all, is walked in the order of memory,
// in which the processor reads it sooner.
const (
	smallLevel = 1 << 10
	denseShare = 1 << 8
)

// run follows edges from the new roots, level by level, until nothing changes, or the analysis is
// full. More roots may be added then, and run called again.
func (a *analysis) run() {
	for len(a.list) > 0 && !a.sets.full {
		list := a.list
		a.level, a.next, a.list = a.next, a.level, a.spare[:0]
		if len(list) < a.dense {
			for _, v := range list {
				a.level.Remove(v)
				a.follow(v)
			}
		} else {
			for i, left := range a.level {
				a.level[i] = 0
				for ; left != 0; left &= left - 1 {
					a.follow(uint32(64*i + bits.TrailingZeros64(left)))
				}
			}
		}
		a.spare = list
	}
}

// looksBetween is how many edges are followed between two calls of look.
const looksBetween = 1 << 12

// follow follows the edges of a vertex.
func (a *analysis) follow(v uint32) {
	through := a.through(v)
	for _, w := range a.graph.From(v) {
		if a.edgesSeen++; a.edgesSeen%looksBetween == 0 && a.look != nil {
			a.look()
		}
		to := w &^ edges.Last
		old := a.in[to]
		now := through + 1
		if old != unreached {
			now = a.sets.meet(old-1, through) + 1
		}
		if now != old {
			a.in[to] = now
			a.push(to)
		}
		if w != to {
			break
		}
	}
}

// full reports whether there was no room for all sets of labels. Results are wrong then.
func (a *analysis) full() bool { return a.sets.full }

// reached reports whether a path from a root leads to v.
func (a *analysis) reached(v uint32) bool { return a.in[v] != unreached }

// through returns the set of labels that every path to v meets, v itself included. A path must lead
// to v.
func (a *analysis) through(v uint32) (set uint32) {
	now := union{a.in[v] - 1, a.labels.own(v), 0}
	if now.in == a.last.in && now.own == a.last.own {
		return a.last.set // neighbours mostly have equal sets
	}
	now.set = now.in
	for _, label := range a.labels.lists[now.own] {
		now.set = a.sets.with(now.set, label)
	}
	a.last = now
	return now.set
}

// with returns the union of a set and a label.
func (a *analysis) with(set, label uint32) uint32 { return a.sets.with(set, label) }

// split returns the greatest label of a set and the set of the others. The empty set is 0.
func (a *analysis) split(set uint32) (label, rest uint32) {
	c := a.sets.cells[set]
	return c.label, c.rest
}
