package heapgraph

import "github.com/leakgate/leakgate/refscan/internal/offheap"

// Dominance over sets. A vertex x of the object graph is retained by a set of vertices if every path
// from a root to x leads through one of them. A node of a report stands for many objects, so that
// dominators of single objects do not answer what cutting the node would free: two elements of a list
// that share a payload retain it together, and neither does alone. So each vertex carries the labels
// of the sets it belongs to, and what is computed for every vertex is
//
//	in(x) = the labels that each path to x meets before x = intersection over p -> x of in(p) + own(p)
//
// where own(p) are p's labels. With one label for each vertex this is the textbook's equation for
// dominators (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm). Sets of labels do not form a tree as dominators
// do, since paths may meet two sets in either order, which rules out Lengauer-Tarjan and semi-NCA.
//
// Breadth first, in(x) starts as the labels on one shortest path, and shrinks at most that many
// times: labels are nodes of a report, in which recursion is folded, so a list of any length has a few. Edges are looked
// at at most 1 + (labels on a path) times; there is no recursion.

// unreached stands for in(x) of a vertex that no path has led to yet. Sets are kept with 1 added to their number.
const unreached = 0

// A dominance is the computation over one graph. Its arrays are not on the heap, and have to be given back.
type dominance struct {
	graph *adjacency
	own   func(v uint32) uint32 // number of a list of lists: the labels of v, ascending
	lists [][]uint32
	sets  labelSets

	in     []uint32 // by vertex: unreached, or 1 + the number of a set of labels
	queue  fifo     // a vertex is in it once at most
	queued bitset
	looks  int64 // edges looked at
	last   passage
}

// A passage is the set that in(v) and own(v) make together. The zero value is that of an empty set and an empty list.
type passage struct{ in, own, set uint32 }

// prepare makes room once the graph is complete.
func (d *dominance) prepare() {
	n := len(d.graph.first)
	d.in = offheap.Make(n)
	d.queued = newBitset(uint32(n))
	d.sets.prepare()
}

// release gives the memory back. What each vertex is retained by is not known any more.
func (d *dominance) release() {
	offheap.Free(d.in)
	d.in = nil
	d.queue.release()
}

// root makes a vertex one that no other vertex is needed to reach; run must follow.
func (d *dominance) root(v uint32) {
	if d.in[v] != 1 {
		d.in[v] = 1
		d.push(v)
	}
}

func (d *dominance) push(v uint32) {
	if d.queued.add(v) {
		d.queue.push(v)
	}
}

// run spreads what root said until nothing changes, or the sets are full. More roots may be named
// then, and run again.
func (d *dominance) run() {
	for !d.queue.empty() && !d.sets.full {
		v := d.queue.pop()
		d.queued.remove(v)
		through := d.through(v)
		for _, w := range d.graph.list(v) {
			d.looks++
			to := w &^ lastEdge
			old := d.in[to]
			now := through + 1
			if old != unreached {
				now = d.sets.meet(old-1, through) + 1
			}
			if now != old {
				d.in[to] = now
				d.push(to)
			}
			if w != to {
				break
			}
		}
	}
}

// through is in(v) + own(v): the labels that every path through v, or to v, meets. A path must lead to v.
func (d *dominance) through(v uint32) uint32 {
	now := passage{d.in[v] - 1, d.own(v), 0}
	if now.in == d.last.in && now.own == d.last.own {
		return d.last.set // neighbours have much in common
	}
	now.set = now.in
	for _, label := range d.lists[now.own] {
		now.set = d.sets.with(now.set, label)
	}
	d.last = now
	return now.set
}
