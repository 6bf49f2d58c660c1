package heapgraph

import "sort"

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
	kids     map[childKey]*Node
	links    []link // some of kids, by what is known before the label is
	held     *Held  // by RetainedBy
	seq      int
	at       int // while parts are sorted, see gathering.portions
	depth    int32
	ownTyped bool // Type and typing are those of objects that the root variable refers to
}

type childKey struct {
	label string
	typ   int32
	form  form
}

// A link leads to the child for targets of a type behind one reference.
type link struct {
	ord   uint32
	typ   int32
	form  form
	child *Node
}

// maxLinks bounds Node.links, which are searched one by one.
const maxLinks = 8

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

// attributor charges objects to nodes, breadth first: level by level, and in a level node by node. The references of
// a stretch of nodes are gathered first, and then each node claims what its own lead to.
type attributor struct {
	g      *Graph
	open   bitset // marked, and not claimed
	tool   bitset // claimed for the tool itself
	tiny   tinyTable
	phase  class
	seq    int
	nodes  []*Node            // root nodes in order
	later  map[class][]uint32 // objects whose turn comes later
	size   int                // of the tree, see maxTree
	level  frontier           // whose references are followed
	next   frontier           // what they led to
	sorter bitset             // see frontier.add
	gather gathering
	groups []group
	labels []string // of the references of the root that has its turn
	watch  *watcher // nil unless somebody wants to know what is charged to whom
}

// A watcher is told of every charge, and lists the node made for each root.
type watcher struct {
	roots  []rootNode
	charge func(*Node, claim)
	skip   func(*Root) bool // leaves out roots; nil: none
	cut    []uint32         // objects that are left out
	tiny   *tinyTable       // in the end
}

type rootNode struct {
	entry *rootEntry
	node  *Node
}

// A claim is what a node is charged with at once.
type claim struct {
	kind           refKind
	obj            uint32
	off            uint8 // of a small value in its block
	objects, bytes int64
	untyped        bool // it is not of its node's type, but held by an object that is
}

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

// claim tells of objects that a reference led to.
func (c Charged) claim(n *Node, what claim) {
	if what.kind == refObject || what.kind == refTiny {
		c(n, what.obj, what.bytes)
	}
}

// attribute tells watch, unless it is nil, what is charged to whom.
func (g *Graph) attribute(watch *watcher) *Result {
	a := &attributor{
		g: g, open: newBitset(g.numNodes()), tool: newBitset(g.m.NumObjects), sorter: newBitset(g.numNodes()),
		later: make(map[class][]uint32), watch: watch,
	}
	copy(a.open, g.marked)
	for i := range g.pieces {
		a.open.add(g.staticBase() + uint32(i))
	}
	a.tiny.prepare(g)
	a.gather.prepare(a)
	defer a.release()
	if watch != nil {
		for _, obj := range watch.cut {
			a.open.remove(obj)
		}
	}
	roots := g.roots()
	for a.phase = classNamed; a.phase <= classTool; a.phase++ {
		for _, r := range roots {
			if r.class == a.phase && (watch == nil || watch.skip == nil || !watch.skip(&r.Root)) {
				a.root(r)
			}
		}
		a.run()
		a.postponed() // after what has a name in this phase: how earlier phases led to these objects differs from run to run
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
	if watch != nil {
		watch.tiny = &a.tiny
	}
	return res
}

// release gives back the memory for what is under way.
func (a *attributor) release() {
	a.level.words.Release()
	a.next.words.Release()
	a.gather.release()
}

// root claims what a root holds directly, and queues it.
func (a *attributor) root(r *rootEntry) {
	if len(r.edges) == 0 {
		return
	}
	node := &Node{Name: r.Name, Type: r.typ, Root: &r.Root, Goroutines: r.goroutines}
	a.nodes = append(a.nodes, node)
	if a.watch != nil {
		a.watch.roots = append(a.watch.roots, rootNode{r, node})
	}
	// The references are in the order of their labels.
	w := a.gather.begin(node)
	labels := a.labels[:0]
	for i := range r.edges {
		re := &r.edges[i]
		if len(labels) == 0 || re.label != labels[len(labels)-1] {
			labels = append(labels, re.label)
		}
		e := a.g.rootEdge(re)
		e.ord = uint32(len(labels) - 1)
		w.w.emit(e)
	}
	a.labels = labels
	a.direct(node, labels)
}

// direct claims what a root holds, which was gathered by label.
func (a *attributor) direct(node *Node, labels []string) {
	w := a.gather.workers[0]
	w.batch.flush()
	w.seal()
	a.claim(node, w.parts, labels)
	node.links = nil // they are by label, not by the order of references of objects
}

// postponed gives this phase the objects that the earlier phases had to leave alone.
func (a *attributor) postponed() {
	objs := a.later[a.phase]
	if len(objs) == 0 {
		return
	}
	node := a.runtimeRoot("runtime.(objects of the scheduler)")
	w := a.gather.begin(node)
	for _, obj := range objs {
		w.object(0, a.g.m.SpanOf(obj), obj)
	}
	a.direct(node, []string{"?"})
	a.later[a.phase] = nil
}

// runtimeRoot makes a root of this phase that stands for no variable.
func (a *attributor) runtimeRoot(name string) *Node {
	node := &Node{Name: name, Root: &Root{Kind: KindOther, Name: name, Package: "runtime", class: a.phase}}
	a.nodes = append(a.nodes, node)
	return node
}

// run follows references level by level until there are none left.
func (a *attributor) run() {
	for len(a.next.runs) > 0 {
		a.level, a.next = a.next, a.level
		a.next.reset()
		runs := a.level.runs
		inOrder := func(i, j int) bool { return runs[i].node.seq < runs[j].node.seq }
		if len(runs) > 1 && !sort.SliceIsSorted(runs, inOrder) {
			sort.SliceStable(runs, inOrder)
		}
		for len(runs) > 0 {
			runs = a.stretch(runs)
		}
	}
	a.level.reset()
	a.next.reset()
}

// maxStretch is how many objects of several nodes are gathered from before their nodes claim. What one holds that another
// claims is kept for nothing.
const maxStretch = 1 << 14

// stretch gathers and claims for the first nodes of a level, and returns the runs of the others.
func (a *attributor) stretch(runs []run) []run {
	n, end := 0, 0
	for end < len(runs) {
		same := end + 1
		count := len(runs[end].objs)
		for same < len(runs) && runs[same].node == runs[end].node {
			count += len(runs[same].objs)
			same++
		}
		if end > 0 && n+count > maxStretch {
			break
		}
		n, end = n+count, same
	}
	for parts := a.gather.all(runs[:end], n); len(parts) > 0; {
		k := 1
		for k < len(parts) && parts[k].node == parts[0].node {
			k++
		}
		a.expand(parts[0].node, parts[:k])
		parts = parts[k:]
	}
	return runs[end:]
}

// expand claims what a node's objects lead to. They have one type, so that their references have a common order; those of untyped
// objects come last.
func (a *attributor) expand(n *Node, parts []part) {
	inline := int64(0)
	for i := range parts {
		p := &parts[i]
		n.Elems += p.used
		inline += p.inline
		for _, e := range p.entries {
			a.watch.charge(n, claim{kind: refEntries, obj: e.obj, objects: e.n})
		}
	}
	if inline > 0 {
		if c := a.child(n, "$mapval", typing{}, a.entryType(n)); c != nil {
			c.Objects += inline
		}
	}
	a.claim(n, parts, nil)
}

func (a *attributor) entryType(n *Node) string {
	if t := a.g.types.at(n.typing.typ); t != nil && t.elem != 0 {
		return a.g.names.Type(t.elem).Name
	}
	return ""
}

// references walks one object: by its type, then by mask what the type leaves out.
func (g *Graph) references(w *walker, obj uint32) {
	if obj >= g.staticBase() {
		c := &g.pieces[obj-g.staticBase()]
		w.object(g.types.at(c.typing.typ), c.typing.form, c.mem, c.addr)
		return
	}
	ty := g.typing.of(obj)
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
