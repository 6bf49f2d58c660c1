package heapgraph

import "github.com/leakgate/leakgate/refscan/internal/offheap"

// Held says what a set of nodes of a report keeps alive, in the counts and bytes of the attribution.
type Held struct {
	// Objects that nothing but the set keeps: each path from the roots leads through an object that is
	// charged to one of its nodes, or through the variable, for nodes that are roots.
	Objects, Bytes int64
	// Of what is charged to the nodes and below them, that which something else keeps, too.
	SharedObjects, SharedBytes int64
	// Of what is charged to the nodes themselves, that which nothing but the root on their path keeps.
	RootObjects, RootBytes int64
}

// Held is what RetainedBy found for a node.
func (n *Node) Held() Held {
	if n.held == nil {
		return Held{}
	}
	return *n.held
}

// Retention is a record of which node each object was charged to.
type Retention struct {
	g       *Graph
	result  *Result
	nodes   []*Node
	number  map[*Node]uint32 // 1 + index in nodes
	last    uint32           // number asked for last
	charged []uint32         // by object, then by piece: the node's number, 0 if it is charged to none
	parts   bitset           // objects that cost bytes but do not count
	untyped bitset           // objects and pieces that are not of their node's type
	small   smallValues
	tiny    *tinyTable
	entries []mapEntries
	roots   []rootNode
	graph   *retainedGraph // nil until it is needed
	rest    int64          // objects that no root of the report reaches
}

// A smallValue shares a block of the tiny allocator with others.
type smallValue struct {
	node, obj  uint32
	off, bytes uint8
	untyped    bool
	more       bool // these are further bytes of a value
}

// smallValues are in blocks, so that they need not be copied when they get more.
type smallValues struct {
	blocks []*[smallBlock]smallValue
	n      uint32
}

const smallBlock = 1 << 12

func (l *smallValues) add(v smallValue) {
	if l.n%smallBlock == 0 {
		l.blocks = append(l.blocks, new([smallBlock]smallValue))
	}
	l.n++
	*l.at(l.n - 1) = v
}

func (l *smallValues) at(i uint32) *smallValue { return &l.blocks[i/smallBlock][i%smallBlock] }

// mapEntries lie in a map's tables whole, and count at a child of the map's node.
type mapEntries struct {
	obj  uint32 // the map
	node *Node
	n    int64
}

// AttributeRetained is Attribute with a record for RetainedBy and RetainedByObjects. It takes 4 bytes an object, until Release.
func (g *Graph) AttributeRetained(onCharge Charged) (*Result, *Retention) {
	r := &Retention{
		g: g, number: make(map[*Node]uint32), charged: offheap.Make(int(g.m.NumObjects) + len(g.pieces)),
		parts: newBitset(g.m.NumObjects), untyped: newBitset(g.m.NumObjects + uint32(len(g.pieces))),
	}
	watch := &watcher{charge: r.charge}
	if onCharge != nil {
		watch.charge = func(n *Node, c claim) {
			r.charge(n, c)
			onCharge.claim(n, c)
		}
	}
	r.result = g.attribute(watch)
	r.roots, r.tiny = watch.roots, watch.tiny
	return r.result, r
}

func (r *Retention) charge(n *Node, c claim) {
	switch c.kind {
	case refEntries:
		r.entries = append(r.entries, mapEntries{c.obj, n, c.objects})
	case refTiny:
		r.small.add(smallValue{r.numberOf(n), c.obj, c.off, uint8(c.bytes), c.untyped, c.objects == 0})
	default:
		r.charged[c.obj] = r.numberOf(n)
		if c.kind == refPart {
			r.parts.add(c.obj)
		}
		if c.untyped {
			r.untyped.add(c.obj)
		}
	}
}

func (r *Retention) numberOf(n *Node) uint32 {
	if r.last > 0 && r.nodes[r.last-1] == n {
		return r.last // charges of one node come in a row
	}
	i, ok := r.number[n]
	if !ok {
		r.nodes = append(r.nodes, n)
		i = uint32(len(r.nodes))
		r.number[n] = i
	}
	r.last = i
	return i
}

// RetainedBy finds out what each node of the result holds (see Node.Held), and what each of the
// groups of nodes holds together. A node may be in one group. It takes time in proportion to the references times the number of
// nodes on a path, and about 8 bytes an object and 4 a reference, outside of the heap until
// Release.
//
// What holds is seen as in the attribution:
//   - The tool's own roots and objects hold nothing, and are held by nothing.
//   - The tables of a map, and compiler-made data behind a variable, belong to the map and the variable.
//   - Copies of a reference on one stack (temporaries, arguments, inlined parameters) are one, which
//     belongs to the root that comes first in the report.
//   - A finalizer or cleanup is held by its object while a root leads to that, so that what it keeps is
//     freed with the object, if not at once.
//
// It gives up, and returns false, if the sets of nodes that objects are retained by are too many and too
// different.
func (r *Retention) RetainedBy(groups [][]*Node) ([]Held, bool) {
	l := r.label(groups)
	held, ok := r.held(l, (*retainedGraph).labelNodes)
	if !ok {
		return nil, false
	}
	out := make([]Held, len(groups))
	for i, label := range l.groups {
		out[i] = held[label]
	}
	for _, n := range l.nodes {
		n.held = &held[l.own[n]]
	}
	return out, true
}

// RetainedByObjects finds out what the objects of each set of nodes hold together: those charged to one of the nodes
// that are of its type. Unlike with RetainedBy, a root stands for such objects, too, and not for its variable. A
// node may be in several sets. It takes what RetainedBy does.
func (r *Retention) RetainedByObjects(sets [][]*Node) ([]Held, bool) {
	held, ok := r.held(r.labelSets(sets), (*retainedGraph).labelObjects)
	if !ok {
		return nil, false
	}
	return held[1:], true
}

// held returns what each label holds, if the vertices have the labels that label gives them.
func (r *Retention) held(l *labels, label func(*retainedGraph, *labels) labelling) ([]Held, bool) {
	b := r.layOut()
	if b.adjacency == nil {
		return nil, false
	}
	d := b.dominance(label(b, l))
	defer d.release()
	if d.sets.full {
		return nil, false
	}
	return r.sum(l, d), true
}

// Release gives the record's memory back.
func (r *Retention) Release() {
	offheap.Free(r.charged)
	r.charged = nil
	if r.graph != nil && r.graph.adjacency != nil {
		r.graph.adjacency.release()
	}
}

// labels numbers sets of nodes.
type labels struct {
	nodes  []*Node            // of the report, from the roots outwards
	lists  map[*Node][]uint32 // what each node has, ascending
	own    map[*Node]uint32   // of these, that of the node alone, if there are such
	groups []uint32           // by group: its label
	max    uint32

	walked []int // by label: the last walk that met it
	walks  int
}

// label numbers the nodes of the result and the groups of nodes, from the roots outwards.
func (r *Retention) label(groups [][]*Node) *labels {
	l := r.newLabels()
	l.own, l.groups = make(map[*Node]uint32), make([]uint32, len(groups))
	groupOf := make(map[*Node]int)
	for i, g := range groups {
		for _, n := range g {
			groupOf[n] = i
		}
	}
	for _, n := range l.nodes {
		l.max++
		l.own[n] = l.max
		l.lists[n] = []uint32{l.max}
		i, ok := groupOf[n]
		if !ok {
			continue
		}
		if l.groups[i] == 0 {
			l.max++
			l.groups[i] = l.max
		}
		l.lists[n] = []uint32{min(l.own[n], l.groups[i]), max(l.own[n], l.groups[i])}
	}
	return l
}

// labelSets numbers the sets in their order, from 1.
func (r *Retention) labelSets(sets [][]*Node) *labels {
	l := r.newLabels()
	l.max = uint32(len(sets))
	for i, set := range sets {
		for _, n := range set {
			if list := l.lists[n]; len(list) == 0 || list[len(list)-1] != uint32(i+1) {
				l.lists[n] = append(list, uint32(i+1))
			}
		}
	}
	return l
}

func (r *Retention) newLabels() *labels {
	l := &labels{lists: make(map[*Node][]uint32)}
	todo := make([]*Node, 0, len(r.result.Roots))
	push := func(nodes []*Node) {
		for i := len(nodes) - 1; i >= 0; i-- {
			todo = append(todo, nodes[i])
		}
	}
	push(r.result.Roots)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		l.nodes = append(l.nodes, n)
		push(n.Children)
	}
	return l
}

// A charge is what the vertices with equal sets of labels cost, of those charged to one node.
type charge struct{ objects, bytes int64 }

type chargeKey struct{ set, node uint32 }

// charges adds up what is charged to the report's nodes, by the labels that it is retained by.
func (r *Retention) charges(l *labels, d *dominance) map[chargeKey]charge {
	sums := make(map[chargeKey]charge)
	add := func(set, node uint32, objects, bytes int64) {
		at := chargeKey{set, node}
		c := sums[at]
		sums[at] = charge{c.objects + objects, c.bytes + bytes}
	}
	var last chargeKey // neighbours have much in common
	var run charge
	tool := r.toolNodes()
	for i := range r.g.m.Spans {
		s := &r.g.m.Spans[i]
		for obj := s.FirstObj; obj < s.FirstObj+s.NElems; obj++ {
			node := r.charged[obj]
			if node == 0 || tool[node] {
				continue
			}
			objects := int64(1)
			if r.parts.has(obj) {
				objects = 0
			}
			if at := (chargeKey{d.through(obj), node}); at != last {
				if run != (charge{}) {
					add(last.set, last.node, run.objects, run.bytes)
				}
				last, run = at, charge{}
			}
			run.objects += objects
			run.bytes += int64(s.ElemSize)
		}
	}
	if run != (charge{}) {
		add(last.set, last.node, run.objects, run.bytes)
	}
	for i := range r.small.n {
		if v := r.small.at(i); !tool[v.node] && !v.more {
			add(d.through(uint32(len(r.charged))+i), v.node, 1, int64(v.bytes))
		}
	}
	for _, e := range r.entries {
		child := e.node.kids[childKey{label: "$mapval"}]
		if child == nil || e.node.isTool() {
			continue
		}
		set := d.through(e.obj)
		for _, label := range l.lists[child] {
			set = d.sets.with(set, label)
		}
		add(set, r.numberOf(child), e.n, 0)
	}
	return sums
}

// above calls visit for each label of a node and of those above it, once.
func (l *labels) above(n *Node, visit func(label uint32)) {
	l.walks++
	for p := n; p != nil; p = p.parent {
		for _, label := range l.lists[p] {
			if l.walked[label] != l.walks { // a group may hold several nodes of one path
				l.walked[label] = l.walks
				visit(label)
			}
		}
	}
}

// sum returns what each label holds.
func (r *Retention) sum(l *labels, d *dominance) []Held {
	l.walked = make([]int, l.max+1)
	held := make([]Held, l.max+1)
	for _, n := range l.nodes {
		l.above(n, func(label uint32) {
			held[label].SharedObjects += n.Objects
			held[label].SharedBytes += n.Bytes
		})
	}
	retains := make([]int, l.max+1) // by label: the last of the charges that it retains
	number := 0
	for at, c := range r.charges(l, d) {
		number++
		for set := at.set; set != 0; set = d.sets.cells[set].rest {
			label := d.sets.cells[set].label
			retains[label] = number
			held[label].Objects += c.objects
			held[label].Bytes += c.bytes
		}
		n := r.nodes[at.node-1]
		l.above(n, func(label uint32) {
			if retains[label] == number {
				held[label].SharedObjects -= c.objects
				held[label].SharedBytes -= c.bytes
			}
		})
		if own := l.own[n.Top()]; own != 0 && retains[own] == number {
			for _, label := range l.lists[n] {
				held[label].RootObjects += c.objects
				held[label].RootBytes += c.bytes
			}
		}
	}
	return held
}

// isTool reports whether a node is one of the tool's own.
func (n *Node) isTool() bool { return n.Top().Root.class == classTool }

// toolNodes lists by number which nodes are the tool's.
func (r *Retention) toolNodes() []bool {
	tool := make([]bool, len(r.nodes)+1)
	for i, n := range r.nodes {
		tool[i+1] = n.isTool()
	}
	return tool
}
