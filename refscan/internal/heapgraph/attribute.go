package heapgraph

import (
	"slices"
	"sort"
)

// Node is a root, or the objects that one kind of reference of its parent's objects leads to.
type Node struct {
	Name                         string
	Type                         string
	Objects, Bytes               int64
	UntypedObjects, UntypedBytes int64
	Elems                        int64
	Ended                        int64  // of Objects, those whose use is over
	EndedState                   string // what they are: "closed"
	Root                         *Root  // of root nodes
	Goroutines                   int64
	Children                     []*Node

	parent   *Node
	typing   typing // of its objects; typ 0 for roots without objects of their own
	pending  []uint32
	kids     map[childKey]*Node
	held     *Held // by RetainedBy
	seq      int
	depth    int32
	ownTyped bool // Type and typing are those of objects that the root variable refers to
}

type childKey struct {
	label string
	typ   int32
	form  form
}

// Totals are sums over heap objects, in size-class bytes. The tool's own objects are in none.
type Totals struct {
	LiveObjects, LiveBytes             int64
	AttributedObjects, AttributedBytes int64
	TypedBytes                         int64
	MissedBytes, ExtraBytes            int64
	MissedObjects, ExtraObjects        int64
}

// Result is a finished account.
type Result struct {
	Roots    []*Node
	Totals   Totals
	Warnings []string

	Uncertain map[Shape]int64 // objects whose type is not certain; nil if there was debug information
}

// staticBase: numbers from here on stand for compiler-made data, which references lead through but
// which costs no heap.
func (g *Graph) staticBase() uint32 { return g.m.NumObjects }

// attributor charges objects to nodes, breadth first.
type attributor struct {
	g         *Graph
	claimed   bitset
	tool      bitset // claimed for the tool itself
	pieces    []bool
	tiny      map[uint32]tinyBlock
	phase     class
	seq       int
	queue     []*Node          // nodes with pending objects
	nodes     []*Node          // root nodes in order
	later     map[class][]edge // references to objects whose turn comes later
	size      int              // of the tree, see maxTree
	w         walker
	expanding *Node
	unnamed   bool // the references of an object that has no node of its own are gathered
	buckets   map[uint32][]edge
	ords      []uint32
	watch     *watcher // nil unless somebody wants to know what is charged to whom
}

// A watcher is told of every charge, and lists the node made for each root.
type watcher struct {
	roots  []rootNode
	charge func(*Node, claim)
	skip   func(*Root) bool // leaves out roots; nil: none
}

type rootNode struct {
	entry *rootEntry
	node  *Node
}

// A claim is what a node is charged with at once: an object, a part of a map or channel, a small
// value, or the entries that lie in a map's tables.
type claim struct {
	obj            uint32
	addr           uint64 // that a reference led to, 0 if none did
	objects, bytes int64
	static         bool // compiler-made data
	entries        bool
	untyped        bool // it is not of its node's type, but held by an object that is
}

// tinyBlock is what was claimed of a 16-byte block of the tiny allocator: which bytes, and at which
// of them an allocation was seen to begin.
type tinyBlock struct{ bytes, starts uint16 }

// Charged is told which object is charged to which node. Values that share a block are told one by one,
// with the block's number.
type Charged func(n *Node, obj uint32, bytes int64)

// Attribute charges every marked object to the root and path that reach it soonest. onCharge may be nil.
func (g *Graph) Attribute(onCharge Charged) *Result {
	var watch *watcher
	if onCharge != nil {
		watch = &watcher{charge: onCharge.claim}
	}
	return g.attribute(watch)
}

// claim tells of objects that were found at an address: parts of maps and channels, and data that the
// compiler made, are none.
func (c Charged) claim(n *Node, what claim) {
	if what.addr != 0 && !what.static {
		c(n, what.obj, what.bytes)
	}
}

// attribute tells watch, unless it is nil, what is charged to whom.
func (g *Graph) attribute(watch *watcher) *Result {
	a := &attributor{
		g: g, claimed: newBitset(g.m.NumObjects), tool: newBitset(g.m.NumObjects),
		pieces: make([]bool, len(g.pieces)), tiny: make(map[uint32]tinyBlock),
		later: make(map[class][]edge), buckets: make(map[uint32][]edge), watch: watch,
	}
	a.w = walker{g: g, emit: a.gather}
	roots := g.roots()
	for a.phase = classNamed; a.phase <= classTool; a.phase++ {
		for _, r := range roots {
			if r.class == a.phase && (watch == nil || watch.skip == nil || !watch.skip(&r.Root)) {
				a.root(r)
			}
		}
		a.postponed()
		a.run()
	}
	a.phase = classRest
	a.rest()
	res := &Result{Warnings: g.m.Warnings}
	if g.confused || a.size > g.maxTree {
		res.Warnings = append(res.Warnings, "the references are too many or too damaged for a full report: what lies deeper than it goes is counted where it ends")
	}
	res.Totals = a.totals()
	if g.nameless() {
		res.Uncertain = a.uncertain()
	}
	res.Roots = a.report()
	return res
}

// root claims what a root holds directly, and queues it.
func (a *attributor) root(r *rootEntry) {
	own := r.Root
	node := &Node{Name: r.Name, Type: r.typ, Root: &own, Goroutines: int64(len(r.goroutines))}
	a.nodes = append(a.nodes, node)
	if a.watch != nil {
		a.watch.roots = append(a.watch.roots, rootNode{r, node})
	}
	for i := 0; i < len(r.edges); {
		j := i
		for j < len(r.edges) && r.edges[j].label == r.edges[i].label {
			j++
		}
		group := make([]edge, 0, j-i)
		for _, e := range r.edges[i:j] {
			group = append(group, e.e)
		}
		a.claimAll(node, r.edges[i].label, group)
		i = j
	}
}

// postponed gives this phase the references to objects that the earlier phases had to leave alone.
func (a *attributor) postponed() {
	edges := a.later[a.phase]
	if len(edges) == 0 {
		return
	}
	name, kind := "runtime.(objects of the scheduler)", KindOther
	node := &Node{Name: name, Root: &Root{Kind: kind, Name: name, Package: "runtime", class: a.phase}}
	a.nodes = append(a.nodes, node)
	a.claimAll(node, "?", edges)
	a.later[a.phase] = nil
}

// run drains the queue level by level.
func (a *attributor) run() {
	for len(a.queue) > 0 {
		level := a.queue
		a.queue = nil
		sort.Slice(level, func(i, j int) bool { return level[i].seq < level[j].seq })
		work := make([][]uint32, len(level))
		for i, n := range level {
			work[i], n.pending = n.pending, nil
		}
		for i, n := range level {
			a.expand(n, work[i])
		}
	}
}

// gather collects the references of the objects that are being expanded.
func (a *attributor) gather(e edge) {
	if e.ord == ordInternal {
		a.internal(e.to)
		return
	}
	if a.unnamed {
		e.ord = ordUnknown
	}
	list, ok := a.buckets[e.ord]
	if !ok || len(list) == 0 {
		a.ords = append(a.ords, e.ord)
	}
	a.buckets[e.ord] = append(list, e)
}

// internal charges a part of a map or channel to the node that is being expanded.
func (a *attributor) internal(addr uint64) {
	s, obj := a.g.m.Object(addr)
	if s == nil || !a.g.marked.has(obj) || !a.claimed.add(obj) {
		return
	}
	n := a.expanding
	n.Bytes += int64(s.ElemSize)
	if a.watch != nil {
		a.watch.charge(n, claim{obj: obj, bytes: int64(s.ElemSize)})
	}
	if a.phase == classTool {
		a.tool.add(obj)
	}
}

// expand follows the references of a node's new objects. Its objects have one type, so that their
// references have a common order; those of untyped objects come last.
func (a *attributor) expand(n *Node, objs []uint32) {
	clear(a.buckets)
	a.ords = a.ords[:0]
	a.expanding = n
	a.w.used, a.w.inline = 0, 0
	for _, obj := range objs {
		used, inline := a.w.used, a.w.inline
		a.unnamed = a.guest(n, obj)
		a.g.references(&a.w, obj)
		if a.unnamed {
			a.w.used, a.w.inline = used, inline
		}
		if a.watch != nil && a.w.inline > inline {
			a.watch.charge(n, claim{obj: obj, objects: a.w.inline - inline, entries: true})
		}
	}
	a.unnamed = false
	n.Elems += a.w.used
	if a.w.inline > 0 {
		if c := a.child(n, "$mapval", typing{}, a.entryType(n)); c != nil {
			c.Objects += a.w.inline
		}
	}
	sort.Slice(a.ords, func(i, j int) bool { return a.ords[i] < a.ords[j] })
	t := a.g.types.types[n.typing.typ]
	ords, buckets := slices.Clone(a.ords), make([][]edge, len(a.ords))
	for i, o := range ords {
		buckets[i] = a.buckets[o]
	}
	for i, o := range ords {
		a.claimAll(n, labelOf(t, n.typing.form, o), buckets[i])
	}
}

// guest reports whether an object is of another type than its node's others: the tree had no room for a node of its own.
func (a *attributor) guest(n *Node, obj uint32) bool {
	ty := typing{}
	if base := a.g.staticBase(); obj >= base {
		ty = a.g.pieces[obj-base].typing
	} else {
		ty = a.g.typing[obj]
	}
	return ty.typ != 0 && (ty.typ != n.typing.typ || ty.form != n.typing.form)
}

func (a *attributor) entryType(n *Node) string {
	if t := a.g.types.types[n.typing.typ]; t != nil && t.elem != 0 {
		return a.g.names.Type(t.elem).Name
	}
	return ""
}

// references walks one object: by its type, then by mask what the type leaves out.
func (g *Graph) references(w *walker, obj uint32) {
	if obj >= g.staticBase() {
		c := &g.pieces[obj-g.staticBase()]
		w.object(g.types.types[c.typing.typ], c.typing.form, c.mem, c.addr)
		return
	}
	ty := g.typing[obj]
	g.walkObject(w, obj)
	if ty.full && ty.typ != 0 {
		return
	}
	s := g.m.SpanOf(obj)
	mem := s.Bytes(obj)
	_ = g.m.PointerWords(s, obj, func(word8 uint64) {
		if to := word(mem, word8*8); to != 0 {
			w.emit(edge{ord: ordUnknown, to: to})
		}
	})
}
