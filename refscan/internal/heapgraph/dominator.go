package heapgraph

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

// unreached stands for in(x) of a vertex that no path has led to yet.
const unreached = ^uint32(0)

// A dominance is the computation over one graph, with its edges in one array.
type dominance struct {
	first []int                 // where a vertex's edges begin in to; one more than there are vertices
	to    []uint32              // by vertex
	own   func(v uint32) uint32 // number of a list of lists: the labels of v, ascending
	lists [][]uint32
	sets  labelSets

	in      []uint32 // by vertex: number of a set of labels
	queue   []uint32 // a ring; a vertex is in it once at most
	head    int
	waiting int
	queued  bitset
	looks   int64 // edges looked at
}

// prepare makes room once the graph is complete.
func (d *dominance) prepare() {
	n := len(d.first) - 1
	d.in = make([]uint32, n)
	for i := range d.in {
		d.in[i] = unreached
	}
	d.queue = make([]uint32, n)
	d.queued = newBitset(uint32(n))
	d.sets.prepare()
}

// root makes a vertex one that no other vertex is needed to reach; run must follow.
func (d *dominance) root(v uint32) {
	if d.in[v] != 0 {
		d.in[v] = 0
		d.push(v)
	}
}

func (d *dominance) push(v uint32) {
	if d.queued.add(v) {
		d.queue[(d.head+d.waiting)%len(d.queue)] = v
		d.waiting++
	}
}

// run spreads what root said until nothing changes, or the sets are full. More roots may be named
// then, and run again.
func (d *dominance) run() {
	for d.waiting > 0 && !d.sets.full {
		v := d.queue[d.head]
		d.head = (d.head + 1) % len(d.queue)
		d.waiting--
		d.queued[v>>6] &^= 1 << (v & 63)
		through := d.through(v)
		for _, w := range d.to[d.first[v]:d.first[v+1]] {
			d.looks++
			old := d.in[w]
			if old == unreached {
				d.in[w] = through
			} else if d.in[w] = d.sets.meet(old, through); d.in[w] == old {
				continue
			}
			d.push(w)
		}
	}
}

// through is in(v) + own(v): the labels that every path through v, or to v, meets.
func (d *dominance) through(v uint32) uint32 {
	set := d.in[v]
	for _, label := range d.lists[d.own(v)] {
		set = d.sets.with(set, label)
	}
	return set
}
