package heapgraph

import (
	"sort"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// retainedGraph lays out who refers to whom, for the computation of dominance. Its vertices are, in
// this order: objects, pieces of compiler-made data, small values, specials, and the variables that
// are roots.
type retainedGraph struct {
	*Retention
	first     []int // where a vertex's edges begin in to
	to        []uint32
	tool      []bool
	variable  map[*Node]bool // roots that are variables, not collections of what is left over
	variables []*rootVariable
	small0    uint32 // the first small value
	special0  uint32
	root0     uint32
	specials  []specialVertex
	on        map[uint32][]uint32 // by object: the specials that hang on it
}

type specialVertex struct {
	node *Node
	to   []uint64
}

// layOut makes the graph, once.
func (r *Retention) layOut() *retainedGraph {
	if r.graph != nil {
		return r.graph
	}
	b := &retainedGraph{
		Retention: r, tool: r.toolNodes(), variable: make(map[*Node]bool), on: make(map[uint32][]uint32),
		small0: uint32(len(r.charged)), specials: make([]specialVertex, len(r.g.special)),
	}
	r.graph = b
	b.special0 = b.small0 + uint32(len(r.small))
	b.root0 = b.special0 + uint32(len(b.specials))
	b.variables = b.findVariables()
	b.first = make([]int, 0, int(b.root0)+len(b.variables)+1)
	b.objects()
	b.pieces()
	for range r.small {
		b.begin()
	}
	for _, s := range b.specials {
		b.begin()
		for _, to := range s.to {
			b.edge(to)
		}
	}
	for _, v := range b.variables {
		b.begin()
		b.to = append(b.to, v.to...)
	}
	b.begin()
	return b
}

// A labelling says which labels each vertex has: the number of one of the lists.
type labelling struct {
	lists [][]uint32
	own   func(v uint32) uint32
}

// dominance computes which labels each vertex is retained by.
func (b *retainedGraph) dominance(l labelling) *dominance {
	d := &dominance{first: b.first, to: b.to, lists: l.lists, own: l.own}
	d.prepare()
	for i := range b.variables {
		d.root(b.root0 + uint32(i))
	}
	d.run()
	b.leftOver(d)
	return d
}

// begin begins the edges of the next vertex.
func (b *retainedGraph) begin() { b.first = append(b.first, len(b.to)) }

// edge adds a reference to an address, if what is there counts.
func (b *retainedGraph) edge(to uint64) {
	if v, ok := b.vertex(to); ok {
		b.to = append(b.to, v)
	}
}

// vertex returns what an address leads to.
func (b *retainedGraph) vertex(to uint64) (uint32, bool) {
	s, obj := b.g.m.Object(to)
	if s == nil {
		i, ok := b.g.pieceAt[to]
		obj = b.g.staticBase() + uint32(i)
		return obj, ok && b.isCharged(obj)
	}
	if s.Tiny {
		for at := to; at >= s.Addr(obj); at-- {
			if i, ok := b.smallAt[at]; ok {
				return b.small0 + i, b.isCharged(b.small0 + i)
			}
		}
	}
	return obj, b.isCharged(obj)
}

// nodeOf returns the node that a vertex is charged to, nil for those that are not charged.
func (b *retainedGraph) nodeOf(v uint32) *Node {
	switch {
	case v < b.small0:
		return b.nodes[b.charged[v]-1]
	case v < b.special0:
		return b.nodes[b.small[v-b.small0].node-1]
	}
	return nil
}

func (b *retainedGraph) objects() {
	for i := range b.g.m.Spans {
		s := &b.g.m.Spans[i]
		for obj := s.FirstObj; obj < s.FirstObj+s.NElems; obj++ {
			b.begin()
			if node := b.charged[obj]; node == 0 || b.tool[node] {
				continue
			}
			if mem := s.Bytes(obj); mem != nil {
				_ = b.g.m.PointerWords(s, obj, func(w uint64) { // the marking has read them all
					if to := word(mem, w*8); to != 0 {
						b.edge(to)
					}
				})
			}
			b.to = append(b.to, b.on[obj]...)
		}
	}
}

func (b *retainedGraph) pieces() {
	for i := range b.g.pieces {
		b.begin()
		p := &b.g.pieces[i]
		at := b.g.staticAt(p.addr)
		if node := b.charged[b.g.staticBase()+uint32(i)]; node == 0 || b.tool[node] || at < 0 {
			continue
		}
		s := &b.g.statics[at]
		for off := uint64(0); off+8 <= uint64(len(p.mem)); off += 8 {
			if to := word(p.mem, off); to != 0 && goruntime.MaskBit(s.mask, (p.addr+off-s.maskBase)/8) {
				b.edge(to)
			}
		}
	}
}

// A rootVariable is what one root node of the report stands for.
type rootVariable struct {
	node *Node
	to   []uint32
}

// findVariables lists the roots with what they refer to, and fills in the specials.
func (b *retainedGraph) findVariables() []*rootVariable {
	var list []*rootVariable
	byNode := make(map[*Node]*rootVariable)
	typed := make(map[rootReference]bool)
	onStack := make(map[stackReference]bool)
	inPiece := b.pieceMemory()
	for _, r := range b.roots {
		if r.entry.class == classTool {
			continue
		}
		key := r.entry.Root
		key.class = 0
		for _, e := range r.entry.edges {
			switch e.from {
			case fromSpecial:
				b.specials[e.id].node = r.node
				b.specials[e.id].to = append(b.specials[e.id].to, e.to)
				continue
			case fromVariable:
				typed[rootReference{key, e.to}] = true
			case fromWord:
				if typed[rootReference{key, e.to}] || inPiece(e.id) {
					continue
				}
			case fromStack:
				ref := stackReference{e.id, e.to}
				if onStack[ref] {
					continue
				}
				onStack[ref] = true
			}
			v, ok := b.vertex(e.to)
			if !ok {
				continue
			}
			node := b.rootOf(r.node, v)
			if byNode[node] == nil {
				byNode[node] = &rootVariable{node: node}
				b.variable[node] = true
				list = append(list, byNode[node])
			}
			byNode[node].to = append(byNode[node].to, v)
		}
	}
	for i, s := range b.specials {
		if s.node == nil {
			continue
		}
		b.variable[s.node] = true
		if obj := b.g.special[i].Obj; obj != goruntime.NoObject {
			b.on[obj] = append(b.on[obj], b.special0+uint32(i))
		}
	}
	return list
}

type rootReference struct {
	root Root
	to   uint64
}

type stackReference struct{ goroutine, to uint64 }

// rootOf returns the root node that a reference of a variable belongs to: a variable that holds
// several types has one for each.
func (b *retainedGraph) rootOf(main *Node, v uint32) *Node {
	if n := b.nodeOf(v).Top(); *n.Root == *main.Root {
		return n
	}
	return main
}

// pieceMemory returns a function that tells whether an address lies in compiler-made data that is
// charged to a variable.
func (b *retainedGraph) pieceMemory() func(addr uint64) bool {
	var pieces []*carved
	for i := range b.g.pieces {
		if b.charged[b.g.staticBase()+uint32(i)] != 0 {
			pieces = append(pieces, &b.g.pieces[i])
		}
	}
	sort.Slice(pieces, func(i, j int) bool { return pieces[i].addr < pieces[j].addr })
	// A piece may lie in another: what counts is the farthest end of those that begin before.
	ends := make([]uint64, len(pieces))
	for i, p := range pieces {
		ends[i] = p.addr + uint64(len(p.mem))
		if i > 0 {
			ends[i] = max(ends[i], ends[i-1])
		}
	}
	return func(addr uint64) bool {
		i := sort.Search(len(pieces), func(i int) bool { return pieces[i].addr > addr })
		return i > 0 && addr < ends[i-1]
	}
}

// labelNodes gives vertices the labels of the nodes that they are charged to. What a root refers to itself
// is charged to the root's node, but only the variable has the label, so that other holders of the
// object show. A root that is no variable stands for the objects charged to it, and next to it.
func (b *retainedGraph) labelNodes(l *labels) labelling {
	lists := make([][]uint32, len(b.nodes)+1)
	for i, n := range b.nodes {
		own := l.lists[n]
		switch {
		case n.parent == nil && b.variable[n]:
			own = nil
		case n.parent != nil && n.parent.parent == nil && !b.variable[n.parent]:
			own = append(append([]uint32(nil), own...), l.lists[n.parent]...)
			sort.Slice(own, func(i, j int) bool { return own[i] < own[j] })
		}
		lists[i+1] = own
	}
	list := make(map[*Node]uint32)
	ofRoot := func(n *Node) uint32 {
		if n == nil {
			return 0
		}
		i, ok := list[n]
		if !ok {
			i = uint32(len(lists))
			lists = append(lists, l.lists[n])
			list[n] = i
		}
		return i
	}
	var own []uint32 // from small0 on
	for _, v := range b.small {
		own = append(own, v.node)
	}
	for _, s := range b.specials {
		own = append(own, ofRoot(s.node))
	}
	for _, v := range b.variables {
		own = append(own, ofRoot(v.node))
	}
	charged, small0 := b.charged, b.small0
	return labelling{lists, func(v uint32) uint32 {
		if v < small0 {
			return charged[v]
		}
		return own[v-small0]
	}}
}

// labelObjects gives objects the labels of the nodes that they are charged to, if they are of the node's type.
func (b *retainedGraph) labelObjects(l *labels) labelling {
	lists := make([][]uint32, len(b.nodes)+1)
	for i, n := range b.nodes {
		lists[i+1] = l.lists[n]
	}
	return labelling{lists, func(v uint32) uint32 {
		switch {
		case v < b.small0 && !b.untyped.has(v):
			return b.charged[v]
		case b.small0 <= v && v < b.special0 && !b.small[v-b.small0].untyped:
			return b.small[v-b.small0].node
		}
		return 0
	}}
}

// leftOver treats what no variable leads to. Finalizers and cleanups of objects that nothing else
// keeps are roots: their time has come. What they do not reach either is its own root.
func (b *retainedGraph) leftOver(d *dominance) {
	b.rest = 0
	var due []uint32
	for i, s := range b.specials {
		if v := b.special0 + uint32(i); s.node != nil && d.in[v] == unreached {
			due = append(due, v)
		}
	}
	for _, v := range due {
		d.root(v)
	}
	d.run()
	for v := uint32(0); v < b.special0 && !d.sets.full; v++ {
		if d.in[v] == unreached && b.isCharged(v) {
			b.rest++
			d.root(v)
			d.run()
		}
	}
}

// isCharged reports whether a node of the report is charged with an object, piece or small value.
func (b *retainedGraph) isCharged(v uint32) bool {
	node := uint32(0)
	if v < b.small0 {
		node = b.charged[v]
	} else {
		node = b.small[v-b.small0].node
	}
	return node != 0 && !b.tool[node]
}
