package retain

import (
	"math/bits"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/edges"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// graph is the graph of references, for the computation of dominance. Its vertices are, in this
// order: objects, anonymous static data, small values, specials, and the variables that are roots.
type graph struct {
	*Result
	edges     *edges.Graph // nil if there are too many references
	smallBase []uint32     // by block of the tiny allocator: where its values begin in smallAt
	smallAt   []uint32     // index in small, by block, then by address
	tool      []bool
	test      []bool // by node: it belongs to a test
	// roots that are variables, not collections of leftover objects
	variable         map[*attribute.Node]bool
	variables        []*rootVariable
	small0           uint32 // the first small value
	special0         uint32
	root0            uint32
	specials         []specialVertex
	specialsByObject map[uint32][]uint32 // by object: the specials that hang on it
}

type specialVertex struct {
	node *attribute.Node
	to   []uint64
}

// layOut makes the graph, once.
func (r *Result) layOut() *graph {
	if r.graph != nil {
		return r.graph
	}
	for _, e := range r.entries {
		if child := e.node.MapEntries(); child != nil {
			r.numberOf(child) // entries count at the child
		}
	}
	b := &graph{
		Result: r, tool: r.nodesOf(root.Class.IsTool), test: r.nodesOf(root.Class.IsTest), variable: make(map[*attribute.Node]bool), specialsByObject: make(map[uint32][]uint32),
		small0: uint32(len(r.charged)), specials: make([]specialVertex, len(r.heap.Live.Specials)),
	}
	r.graph = b
	b.special0 = b.small0 + r.small.n
	b.root0 = b.special0 + uint32(len(b.specials))
	b.findSmall()
	b.variables = b.findVariables()
	// Behind the objects' own references come those of compiler-made data, specials and variables,
	// and once more those of objects with specials and of the heaps of timers.
	more := uint64(0)
	for i := range r.heap.Anonymous.List {
		more += uint64(len(r.heap.Anonymous.List[i].Mem)) / 8
	}
	for _, s := range b.specials {
		more += uint64(len(s.to))
	}
	for _, v := range b.variables {
		more += uint64(len(v.to))
	}
	for obj, on := range b.specialsByObject {
		more += r.heap.Model.SpanOf(obj).ElemSize/8 + uint64(len(on))
	}
	for _, at := range r.heap.Timers.Heaps {
		if s, _ := r.heap.Model.Object(at); s != nil {
			more += s.ElemSize/8 + 1
		}
	}
	layout := edges.Plan(r.heap.Model)
	g, w, ok := layout.New(uint64(b.root0)+uint64(len(b.variables)), more)
	if b.edges = g; !ok {
		return b
	}
	layout.Objects(g, func(w *edges.Writer, s *goruntime.Span, obj uint32) {
		if b.isCharged(obj) {
			b.object(w, s, obj)
			w.End()
		}
	})
	b.timerHeaps(&w)
	b.hanging(&w)
	b.anonymous(&w)
	for i, s := range b.specials {
		w.Begin(b.special0 + uint32(i))
		for _, to := range s.to {
			b.edge(&w, to)
		}
		w.End()
	}
	for i, v := range b.variables {
		w.Begin(b.root0 + uint32(i))
		for _, to := range v.to {
			w.Edge(to)
		}
		w.End()
	}
	return b
}

// dominance computes which labels each vertex is retained by, and returns how many objects no root
// reaches.
func (b *graph) dominance(l labelling) (d *analysis, rest int64) {
	d = newAnalysis(b.edges, l)
	d.look = b.heap.Model.InTime
	done := false
	defer func() {
		if !done { // memory was refused
			d.release()
		}
	}()
	for i := range b.variables {
		d.addRoot(b.root0 + uint32(i))
	}
	d.run()
	rest = b.leftOver(d)
	done = true
	return d, rest
}

// edge adds a reference to an address, if its vertex is charged to a node of the report.
func (b *graph) edge(w *edges.Writer, to uint64) {
	if v, ok := b.vertex(to); ok {
		w.Edge(v)
	}
}

// testsHold reports whether an object that is charged to a test may be a holder of a vertex: tests
// hold what nothing else holds.
func (b *graph) testsHold(v uint32) bool {
	n := b.nodeOf(v)
	return n == nil || n.Top().Root.Class == root.ClassTest
}

// vertex returns the vertex at an address; false if it is not charged to a node of the report.
func (b *graph) vertex(to uint64) (uint32, bool) {
	s, obj := b.heap.Model.Object(to)
	if s == nil {
		i, ok := b.heap.Anonymous.At(to)
		obj = b.heap.AnonymousBase() + uint32(i)
		return obj, ok && b.isCharged(obj)
	}
	if s.Tiny {
		if i, ok := b.smallValue(obj, uint8(to-s.Addr(obj))); ok {
			return b.small0 + i, b.isCharged(b.small0 + i)
		}
	}
	return obj, b.isCharged(obj)
}

// nodeOf returns the node that a vertex is charged to, nil for specials and variables.
func (b *graph) nodeOf(v uint32) *attribute.Node {
	switch {
	case v < b.small0:
		return b.nodes[b.charged[v]-1]
	case v < b.special0:
		return b.nodes[b.small.at(v-b.small0).node-1]
	}
	return nil
}

// findSmall indexes small values by their addresses.
func (b *graph) findSmall() {
	b.smallBase = make([]uint32, len(b.tiny.Blocks))
	n := uint32(0)
	for i, block := range b.tiny.Blocks {
		b.smallBase[i] = n
		n += uint32(bits.OnesCount16(block.Starts))
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

// smallIndex returns the index in smallAt of the last value that begins in a block at an offset or
// before.
func (b *graph) smallIndex(obj uint32, off uint8) uint32 {
	block := b.tiny.Index(obj)
	return b.smallBase[block] + uint32(bits.OnesCount16(b.tiny.Blocks[block].Starts&(2<<off-1))) - 1
}

// smallValue returns the index of the value at an offset of a block.
func (b *graph) smallValue(obj uint32, off uint8) (uint32, bool) {
	if b.tiny.At(obj).Starts&(2<<off-1) == 0 {
		return 0, false
	}
	return b.smallAt[b.smallIndex(obj, off)], true
}

// object begins the list of an object with its own references.
func (b *graph) object(w *edges.Writer, s *goruntime.Span, obj uint32) {
	w.Begin(obj)
	mem := s.Bytes(obj)
	ofTest := b.test[b.charged[obj]]
	_ = b.heap.Model.PointerWords(s, obj, func(at uint64) { // the marking has read them all
		to := heaptype.Word(mem, at*8)
		if to == 0 {
			return
		}
		if v, ok := b.vertex(to); ok && (!ofTest || b.testsHold(v)) {
			w.Edge(v)
		}
	})
}

// hanging writes the lists of objects with specials again, with references to the specials.
func (b *graph) hanging(w *edges.Writer) {
	for obj, on := range b.specialsByObject {
		if !b.isCharged(obj) {
			continue
		}
		if s := b.heap.Model.SpanOf(obj); s.NoScan {
			w.Begin(obj)
		} else {
			b.object(w, s, obj)
		}
		for _, v := range on {
			w.Edge(v)
		}
		w.End()
	}
}

// timerHeaps writes the lists of the runtime's arrays of timers again, without timers that are
// roots of their own: the runtime is not what keeps these.
func (b *graph) timerHeaps(w *edges.Writer) {
	roots := objset.New(b.heap.Model.NumObjects)
	for i := range b.heap.Timers.List {
		if s, obj := b.heap.Model.Object(b.heap.Timers.List[i].Addr); s != nil {
			roots.Add(obj)
		}
	}
	for _, at := range b.heap.Timers.Heaps {
		s, obj := b.heap.Model.Object(at)
		if s == nil || !b.isCharged(obj) {
			continue
		}
		w.Begin(obj)
		w.Edge(obj) // without an edge, End would leave the array's first list
		mem := s.Bytes(obj)
		_ = b.heap.Model.PointerWords(s, obj, func(at uint64) {
			if on, timer := b.heap.Model.Object(heaptype.Word(mem, at*8)); on != nil && !roots.Has(timer) {
				b.edge(w, heaptype.Word(mem, at*8))
			}
		})
		w.End()
	}
}

func (b *graph) anonymous(w *edges.Writer) {
	for i := range b.heap.Anonymous.List {
		p := &b.heap.Anonymous.List[i]
		at := b.heap.Segments.At(p.Addr)
		if node := b.charged[b.heap.AnonymousBase()+uint32(i)]; node == 0 || b.tool[node] || at < 0 {
			continue
		}
		s := &b.heap.Segments.Statics[at]
		w.Begin(b.heap.AnonymousBase() + uint32(i))
		for off := uint64(0); off+8 <= uint64(len(p.Mem)); off += 8 {
			if to := heaptype.Word(p.Mem, off); to != 0 && s.IsPointer((p.Addr-s.Addr+off)/8) {
				b.edge(w, to)
			}
		}
		w.End()
	}
}

// A rootVariable is the vertex of a root node of the report.
type rootVariable struct {
	node *attribute.Node
	to   []uint32
}

// findVariables lists the roots with what they refer to, and fills in the specials.
func (b *graph) findVariables() []*rootVariable {
	var list []*rootVariable
	byNode := make(map[*attribute.Node]*rootVariable)
	typed := make(map[rootReference]bool)
	onStack := make(map[stackReference]bool)
	inAnonymous := b.anonymousMemory()
	for _, r := range b.roots {
		if r.Entry.Class.IsTool() {
			continue
		}
		key := r.Entry.Root
		key.Class = 0
		for _, e := range r.Entry.Edges {
			switch e.From {
			case root.FromSpecial:
				b.specials[e.ID].node = r.Node
				b.specials[e.ID].to = append(b.specials[e.ID].to, e.To)
				continue
			case root.FromVariable:
				typed[rootReference{key, e.To}] = true
			case root.FromWord:
				if typed[rootReference{key, e.To}] || inAnonymous(e.ID) {
					continue
				}
			case root.FromStack:
				ref := stackReference{e.ID, e.To}
				if onStack[ref] {
					continue
				}
				onStack[ref] = true
			}
			v, ok := b.vertex(e.To)
			if !ok || r.Entry.Class == root.ClassTest && !b.testsHold(v) {
				continue
			}
			node := b.rootOf(r.Node, v)
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
		if obj := b.heap.Live.Specials[i].Obj; obj != goruntime.NoObject {
			b.specialsByObject[obj] = append(b.specialsByObject[obj], b.special0+uint32(i))
		}
	}
	return list
}

type rootReference struct {
	root root.Root
	to   uint64
}

type stackReference struct{ goroutine, to uint64 }

// rootOf returns the root node that a reference of a variable belongs to: a variable that holds
// several types has one for each.
func (b *graph) rootOf(main *attribute.Node, v uint32) *attribute.Node {
	if n := b.nodeOf(v).Top(); *n.Root == *main.Root {
		return n
	}
	return main
}

// anonymousMemory returns a function that tells whether an address lies in compiler-made data that
// is charged to a variable.
func (b *graph) anonymousMemory() func(addr uint64) bool {
	var list []*typing.Anonymous
	for i := range b.heap.Anonymous.List {
		if b.charged[b.heap.AnonymousBase()+uint32(i)] != 0 {
			list = append(list, &b.heap.Anonymous.List[i])
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Addr < list[j].Addr })
	// Data may lie in other data, so ends holds the farthest end of all that begins before.
	ends := make([]uint64, len(list))
	for i, p := range list {
		ends[i] = p.Addr + uint64(len(p.Mem))
		if i > 0 {
			ends[i] = max(ends[i], ends[i-1])
		}
	}
	return func(addr uint64) bool {
		i := sort.Search(len(list), func(i int) bool { return list[i].Addr > addr })
		return i > 0 && addr < ends[i-1]
	}
}

// labelNodes gives vertices the labels of the nodes that they are charged to. Objects that a root
// refers to itself are charged to the root's node, but only the variable has the label, so that
// other holders of the objects show. A root that is no variable stands for the objects charged to
// it and to its children.
func (b *graph) labelNodes(l *labels) labelling {
	lists := make([][]uint32, len(b.nodes)+1)
	for i, n := range b.nodes {
		own := l.lists[n]
		switch {
		case n.Parent() == nil && b.variable[n]:
			own = nil
		case n.Parent() != nil && n.Parent().Parent() == nil && !b.variable[n.Parent()]:
			own = append(append([]uint32(nil), own...), l.lists[n.Parent()]...)
			sort.Slice(own, func(i, j int) bool { return own[i] < own[j] })
		}
		lists[i+1] = own
	}
	list := make(map[*attribute.Node]uint32)
	ofRoot := func(n *attribute.Node) uint32 {
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
	return labelling{lists: lists, own: func(v uint32) uint32 {
		switch {
		case v < b.small0:
			return b.charged[v]
		case v < b.special0:
			return b.small.at(v - b.small0).node
		}
		return own[v-b.special0]
	}}
}

// labelObjects gives objects the labels of the nodes that they are charged to, if they are of the
// node's type.
func (b *graph) labelObjects(l *labels) labelling {
	lists := make([][]uint32, len(b.nodes)+1)
	for i, n := range b.nodes {
		lists[i+1] = l.lists[n]
	}
	return labelling{lists: lists, own: func(v uint32) uint32 {
		switch {
		case v < b.small0 && !b.untyped.Has(v):
			return b.charged[v]
		case b.small0 <= v && v < b.special0 && !b.small.at(v-b.small0).untyped:
			return b.small.at(v - b.small0).node
		}
		return 0
	}}
}

// leftOver makes roots of vertices that no variable leads to. First, finalizers and cleanups of
// objects that nothing else keeps: they are due. Then everything that these do not reach either;
// leftOver counts it.
func (b *graph) leftOver(d *analysis) (rest int64) {
	var due []uint32
	for i, s := range b.specials {
		if v := b.special0 + uint32(i); s.node != nil && !d.reached(v) {
			due = append(due, v)
		}
	}
	for _, v := range due {
		d.addRoot(v)
	}
	d.run()
	for v := uint32(0); v < b.special0 && !d.full(); v++ {
		if !d.reached(v) && b.isCharged(v) {
			rest++
			d.addRoot(v)
			d.run()
		}
	}
	return rest
}

// isCharged reports whether a node of the report is charged with an object, anonymous static data
// or small value.
func (b *graph) isCharged(v uint32) bool {
	node := uint32(0)
	if v < b.small0 {
		node = b.charged[v]
	} else {
		node = b.small.at(v - b.small0).node
	}
	return node != 0 && !b.tool[node]
}
