package heapgraph

import (
	"math/bits"
	"runtime"
	"sort"
	"sync/atomic"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// retainedGraph lays out who refers to whom, for the computation of dominance. Its vertices are, in
// this order: objects, pieces of compiler-made data, small values, specials, and the variables that
// are roots.
type retainedGraph struct {
	*Retention
	adjacency *adjacency // nil if there are too many references
	smallBase []uint32   // by block of the tiny allocator: where its values begin in smallAt
	smallAt   []uint32   // index in small, by block, then by address
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
	b.special0 = b.small0 + r.small.n
	b.root0 = b.special0 + uint32(len(b.specials))
	b.findSmall()
	b.variables = b.findVariables()
	tasks, edges := b.divide()
	// What follows the objects' own references: those of compiler-made data and roots, and those to specials once more.
	rest := edges
	for i := range r.g.pieces {
		edges += uint64(len(r.g.pieces[i].mem)) / 8
	}
	for _, s := range b.specials {
		edges += uint64(len(s.to))
	}
	for _, v := range b.variables {
		edges += uint64(len(v.to))
	}
	for obj, on := range b.on {
		edges += r.g.m.SpanOf(obj).ElemSize/8 + uint64(len(on))
	}
	var ok bool
	if b.adjacency, ok = newAdjacency(uint64(b.root0)+uint64(len(b.variables)), edges); !ok {
		return b
	}
	b.objects(tasks)
	w := listWriter{a: b.adjacency, at: uint32(rest)}
	b.hanging(&w)
	b.pieces(&w)
	for i, s := range b.specials {
		w.begin(b.special0 + uint32(i))
		for _, to := range s.to {
			b.edge(&w, to)
		}
		w.end()
	}
	for i, v := range b.variables {
		w.begin(b.root0 + uint32(i))
		for _, to := range v.to {
			w.edge(to)
		}
		w.end()
	}
	return b
}

// A labelling says which labels each vertex has: the number of one of the lists.
type labelling struct {
	lists [][]uint32
	own   func(v uint32) uint32
}

// dominance computes which labels each vertex is retained by.
func (b *retainedGraph) dominance(l labelling) *dominance {
	d := &dominance{graph: b.adjacency, lists: l.lists, own: l.own}
	d.prepare()
	for i := range b.variables {
		d.root(b.root0 + uint32(i))
	}
	d.run()
	b.leftOver(d)
	return d
}

// edge adds a reference to an address, if what is there counts.
func (b *retainedGraph) edge(w *listWriter, to uint64) {
	if v, ok := b.vertex(to); ok {
		w.edge(v)
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
		if i, ok := b.smallValue(obj, uint8(to-s.Addr(obj))); ok {
			return b.small0 + i, b.isCharged(b.small0 + i)
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
		return b.nodes[b.small.at(v-b.small0).node-1]
	}
	return nil
}

// findSmall makes small values be found by their addresses.
func (b *retainedGraph) findSmall() {
	b.smallBase = make([]uint32, len(b.tiny.blocks))
	n := uint32(0)
	for i, block := range b.tiny.blocks {
		b.smallBase[i] = n
		n += uint32(bits.OnesCount16(block.starts))
	}
	b.smallAt = make([]uint32, n)
	for i := range b.small.n {
		v := b.small.at(i)
		at := b.smallIndex(v.obj, v.off)
		if v.more {
			b.small.at(b.smallAt[at]).bytes += v.bytes
			v.node = 0
		} else {
			b.smallAt[at] = i
		}
	}
}

// smallIndex returns where in smallAt the last value stands that begins in a block at an offset or before.
func (b *retainedGraph) smallIndex(obj uint32, off uint8) uint32 {
	block := b.tiny.index(obj)
	return b.smallBase[block] + uint32(bits.OnesCount16(b.tiny.blocks[block].starts&(2<<off-1))) - 1
}

// smallValue returns the index of the value at an offset of a block.
func (b *retainedGraph) smallValue(obj uint32, off uint8) (uint32, bool) {
	if b.tiny.at(obj).starts&(2<<off-1) == 0 {
		return 0, false
	}
	return b.smallAt[b.smallIndex(obj, off)], true
}

// A layTask is some spans, whose objects' references are laid out from one place on.
type layTask struct {
	first, last int
	at          uint32
}

// layTaskSize is how many references a task has room for, but for those with larger spans.
const layTaskSize = 1 << 18

// divide makes tasks of all spans, and returns how many references they have room for together.
func (b *retainedGraph) divide() (tasks []layTask, edges uint64) {
	room := uint64(layTaskSize)
	for i := range b.g.m.Spans {
		s := &b.g.m.Spans[i]
		if s.NoScan {
			continue
		}
		words := uint64(s.NElems) * (s.ElemSize / 8)
		if room += words; room > layTaskSize {
			tasks, room = append(tasks, layTask{first: i, at: uint32(edges)}), words
		}
		tasks[len(tasks)-1].last = i + 1
		edges += words
	}
	return tasks, edges
}

// objects lays out the references of all objects.
func (b *retainedGraph) objects(tasks []layTask) {
	var next atomic.Int64
	concurrently(min(runtime.GOMAXPROCS(0), len(tasks)), func(int) {
		w := listWriter{a: b.adjacency}
		for i := next.Add(1) - 1; i < int64(len(tasks)); i = next.Add(1) - 1 {
			w.at = tasks[i].at
			for k := tasks[i].first; k < tasks[i].last; k++ {
				s := &b.g.m.Spans[k]
				for obj := s.FirstObj; !s.NoScan && obj < s.FirstObj+s.NElems; obj++ {
					if b.isCharged(obj) {
						b.object(&w, s, obj)
						w.end()
					}
				}
			}
		}
	})
}

// object begins the list of an object with its own references.
func (b *retainedGraph) object(w *listWriter, s *goruntime.Span, obj uint32) {
	w.begin(obj)
	mem := s.Bytes(obj)
	_ = b.g.m.PointerWords(s, obj, func(at uint64) { // the marking has read them all
		if to := word(mem, at*8); to != 0 {
			b.edge(w, to)
		}
	})
}

// hanging adds references to what hangs on objects.
func (b *retainedGraph) hanging(w *listWriter) {
	for obj, on := range b.on {
		if !b.isCharged(obj) {
			continue
		}
		if s := b.g.m.SpanOf(obj); s.NoScan {
			w.begin(obj)
		} else {
			b.object(w, s, obj)
		}
		for _, v := range on {
			w.edge(v)
		}
		w.end()
	}
}

func (b *retainedGraph) pieces(w *listWriter) {
	for i := range b.g.pieces {
		p := &b.g.pieces[i]
		at := b.g.staticAt(p.addr)
		if node := b.charged[b.g.staticBase()+uint32(i)]; node == 0 || b.tool[node] || at < 0 {
			continue
		}
		s := &b.g.statics[at]
		w.begin(b.g.staticBase() + uint32(i))
		for off := uint64(0); off+8 <= uint64(len(p.mem)); off += 8 {
			if to := word(p.mem, off); to != 0 && goruntime.MaskBit(s.mask, (p.addr+off-s.maskBase)/8) {
				b.edge(w, to)
			}
		}
		w.end()
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
	var own []uint32 // from special0 on
	for _, s := range b.specials {
		own = append(own, ofRoot(s.node))
	}
	for _, v := range b.variables {
		own = append(own, ofRoot(v.node))
	}
	return labelling{lists, func(v uint32) uint32 {
		switch {
		case v < b.small0:
			return b.charged[v]
		case v < b.special0:
			return b.small.at(v - b.small0).node
		}
		return own[v-b.special0]
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
		case b.small0 <= v && v < b.special0 && !b.small.at(v-b.small0).untyped:
			return b.small.at(v - b.small0).node
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
		node = b.small.at(v - b.small0).node
	}
	return node != 0 && !b.tool[node]
}
