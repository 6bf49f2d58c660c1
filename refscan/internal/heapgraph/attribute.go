package heapgraph

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// Node is a root, or the objects that one kind of reference of its parent's objects leads to.
type Node struct {
	Name                         string
	Type                         string
	Objects, Bytes               int64
	UntypedObjects, UntypedBytes int64
	Elems                        int64
	Root                         *Root // of root nodes
	Goroutines                   int64
	Children                     []*Node

	parent   *Node
	typing   typing // of its objects; typ 0 for roots without objects of their own
	pending  []uint32
	kids     map[childKey]*Node
	seq      int
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
	typed     int64
	tinyUsed  int64
	w         walker
	expanding *Node
	buckets   map[uint32][]edge
	ords      []uint32
}

// tinyBlock is what was claimed of a 16-byte block of the tiny allocator: which bytes, and at which
// of them an allocation was seen to begin.
type tinyBlock struct{ bytes, starts uint16 }

// Attribute charges every marked object to the root and path that reach it soonest.
func (g *Graph) Attribute() *Result {
	a := &attributor{
		g: g, claimed: newBitset(g.m.NumObjects), tool: newBitset(g.m.NumObjects),
		pieces: make([]bool, len(g.pieces)), tiny: make(map[uint32]tinyBlock),
		later: make(map[class][]edge), buckets: make(map[uint32][]edge),
	}
	a.w = walker{g: g, emit: a.gather}
	roots := g.roots()
	for a.phase = classNamed; a.phase <= classTool; a.phase++ {
		for _, r := range roots {
			if r.class == a.phase {
				a.root(r)
			}
		}
		a.postponed()
		a.run()
	}
	a.phase = classRest
	a.rest()
	res := &Result{Warnings: g.m.Warnings}
	res.Totals = a.totals()
	res.Roots = a.report()
	return res
}

// root claims what a root holds directly, and queues it.
func (a *attributor) root(r *rootEntry) {
	own := r.Root
	node := &Node{Name: r.Name, Type: r.typ, Root: &own, Goroutines: int64(len(r.goroutines))}
	a.nodes = append(a.nodes, node)
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
		slices.SortFunc(level, func(x, y *Node) int { return x.seq - y.seq })
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
	a.typed += int64(s.ElemSize)
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
		a.references(obj)
	}
	n.Elems += a.w.used
	if a.w.inline > 0 {
		c := a.child(n, "$mapval", typing{}, a.entryType(n))
		c.Objects += a.w.inline
	}
	slices.Sort(a.ords)
	t := a.g.types.types[n.typing.typ]
	ords, buckets := slices.Clone(a.ords), make([][]edge, len(a.ords))
	for i, o := range ords {
		buckets[i] = a.buckets[o]
	}
	for i, o := range ords {
		a.claimAll(n, labelOf(t, n.typing.form, o), buckets[i])
	}
}

func (a *attributor) entryType(n *Node) string {
	if t := a.g.types.types[n.typing.typ]; t != nil && t.elem != 0 {
		return a.g.names.Type(t.elem).Name
	}
	return ""
}

// references walks one object: by its type, then by mask what the type leaves out.
func (a *attributor) references(obj uint32) {
	g := a.g
	if obj >= g.staticBase() {
		c := &g.pieces[obj-g.staticBase()]
		a.w.object(g.types.types[c.typing.typ], c.typing.form, c.mem, c.addr)
		return
	}
	ty := g.typing[obj]
	g.walkObject(&a.w, obj)
	if ty.full && ty.typ != 0 {
		return
	}
	s := g.m.SpanOf(obj)
	mem := s.Bytes(obj)
	_ = g.m.PointerWords(s, obj, func(w uint64) {
		if to := word(mem, w*8); to != 0 {
			a.gather(edge{ord: ordUnknown, to: to})
		}
	})
}

// claimAll charges the unclaimed objects that equal references of one node lead to.
func (a *attributor) claimAll(n *Node, label string, edges []edge) {
	type group struct {
		ty    typing
		objs  []uint32
		count int64
		bytes int64
	}
	var groups []*group
	var last *group
	for _, e := range edges {
		obj, ty, bytes, ok := a.take(e)
		if !ok {
			continue
		}
		key := typing{typ: ty.typ, form: ty.form}
		if last == nil || last.ty != key {
			last = nil
			for _, g := range groups {
				if g.ty == key {
					last = g
				}
			}
			if last == nil {
				last = &group{ty: key}
				groups = append(groups, last)
			}
		}
		if obj < a.g.staticBase() {
			last.count++
			last.bytes += bytes
		}
		last.objs = append(last.objs, obj)
	}
	if len(groups) > 1 {
		name := func(g *group) string {
			if g.ty.typ == 0 {
				return "\xff" // untyped ones last
			}
			return a.g.types.refName(g.ty)
		}
		slices.SortFunc(groups, func(x, y *group) int {
			if c := strings.Compare(name(x), name(y)); c != 0 {
				return c
			}
			return int(x.ty.typ - y.ty.typ)
		})
	}
	for _, g := range groups {
		to := n
		switch {
		case g.ty.typ == 0:
			n.UntypedObjects += g.count
			n.UntypedBytes += g.bytes
		default:
			to = a.child(n, label, g.ty, a.g.types.refName(g.ty))
			a.typed += g.bytes
		}
		to.Objects += g.count
		to.Bytes += g.bytes
		if len(to.pending) == 0 {
			a.queue = append(a.queue, to)
		}
		to.pending = append(to.pending, g.objs...)
	}
}

// child returns the node for objects of a type behind a reference. A type that is already on the path
// folds into the node where it stands. The reference "" is the root variable itself.
func (a *attributor) child(n *Node, label string, ty typing, typeName string) *Node {
	if label == "" && n.Root == nil {
		label = "$val" // a pointer to a reference, or a reference boxed in an interface
	}
	key := childKey{label, ty.typ, ty.form}
	if c := n.kids[key]; c != nil {
		return c
	}
	var c *Node
	if ty.typ != 0 && a.g.types.types[ty.typ].HasPointers() || ty.form == formMap || ty.form == formChan || ty.form == formTrie {
		for p := n; p != nil; p = p.parent {
			if p.typing.typ == ty.typ && p.typing.form == ty.form {
				c = p
				break
			}
		}
	}
	if c == nil && label == "" && n.Root != nil && n.typing.typ == 0 && !n.ownTyped {
		// The variable refers to these objects itself.
		n.typing, n.Type, n.ownTyped = typing{typ: ty.typ, form: ty.form}, typeName, true
		a.seq++
		n.seq = a.seq
		c = n
	}
	if c == nil {
		c = &Node{Name: label, Type: typeName, typing: typing{typ: ty.typ, form: ty.form}, parent: n}
		a.seq++
		c.seq = a.seq
		if label == "" { // a variable that holds several types, in several goroutines or over time
			own := *n.Root
			c.Name, c.Root, c.parent, c.Goroutines, c.ownTyped = n.Name, &own, nil, n.Goroutines, true
			a.nodes = append(a.nodes, c)
		} else {
			n.Children = append(n.Children, c)
		}
	}
	if n.kids == nil {
		n.kids = make(map[childKey]*Node)
	}
	n.kids[key] = c
	return c
}

// take claims the object behind a reference, if it has its turn and nobody claimed it before. Small
// values that share a block are taken one by one.
func (a *attributor) take(e edge) (obj uint32, ty typing, bytes int64, ok bool) {
	g := a.g
	s, obj := g.m.Object(e.to)
	if s == nil {
		return a.takeStatic(e)
	}
	if !g.marked.has(obj) {
		return 0, typing{}, 0, false
	}
	if s.Tiny {
		return a.takeTiny(e, s, obj)
	}
	ty = g.typing[obj]
	if ty.form == formInternal && a.phase < classRest {
		return 0, typing{}, 0, false // its map or channel will claim it
	}
	if a.claimed.has(obj) {
		return 0, typing{}, 0, false
	}
	if c := a.turnOf(ty); c > a.phase {
		a.later[c] = append(a.later[c], e)
		return 0, typing{}, 0, false
	}
	a.claimed.add(obj)
	if a.phase == classTool {
		a.tool.add(obj)
	}
	return obj, ty, int64(s.ElemSize), true
}

// turnOf says in which phase objects of a type may be claimed.
func (a *attributor) turnOf(ty typing) class {
	if ty.typ == 0 {
		return classNamed
	}
	t := a.g.types.types[ty.typ]
	if !t.turned {
		t.turned = true
		switch {
		case isTool(PackageOf(strings.TrimPrefix(t.Name, "func "))):
			t.turn = classTool
		case t.Name == "runtime.g" || t.Name == "runtime.m" || t.Name == "runtime.p" || t.Name == "runtime.sudog":
			t.turn = classRuntime
		}
	}
	return t.turn
}

func (a *attributor) takeStatic(e edge) (uint32, typing, int64, bool) {
	i, known := a.g.pieceAt[e.to]
	if !known || a.pieces[i] {
		return 0, typing{}, 0, false // variables are roots of their own
	}
	a.pieces[i] = true
	return a.g.staticBase() + uint32(i), a.g.pieces[i].typing, 0, true
}

func (a *attributor) takeTiny(e edge, s *goruntime.Span, obj uint32) (uint32, typing, int64, bool) {
	off := uint(e.to - s.Addr(obj))
	b := a.tiny[obj]
	if b.starts>>off&1 != 0 {
		return 0, typing{}, 0, false
	}
	b.starts |= 1 << off
	size := uint(16) - off
	if e.size != 0 && e.size < uint64(size) {
		size = uint(e.size)
	}
	fresh := uint16((1<<size-1)<<off) &^ b.bytes
	b.bytes |= fresh
	a.tiny[obj] = b
	a.claimed.add(obj)
	if a.phase == classTool {
		a.tool.add(obj)
	}
	ty := typing{}
	if e.typ != nil && !e.typ.HasPointers() {
		ty = typing{typ: e.typ.index, form: e.form}
	}
	n := int64(bits.OnesCount16(fresh))
	a.tinyUsed += n
	return obj, ty, n, true
}

// rest charges what no reference that is understood leads to: nothing alive may be missing from the
// sums.
func (a *attributor) rest() {
	const name = "runtime.(unattributed)"
	node := &Node{Name: name, Root: &Root{Kind: KindOther, Name: name, Package: "runtime", class: classRest}}
	for i := range a.g.m.Spans {
		s := &a.g.m.Spans[i]
		for k := uint32(0); k < s.NElems; k++ {
			obj := s.FirstObj + k
			if a.g.marked.has(obj) && a.claimed.add(obj) {
				node.Objects++
				node.Bytes += int64(s.ElemSize)
				node.UntypedObjects++
				node.UntypedBytes += int64(s.ElemSize)
			}
		}
	}
	if node.Objects > 0 {
		a.nodes = append(a.nodes, node)
	}
	// Blocks of the tiny allocator hold gaps.
	slack := int64(0)
	for obj, b := range a.tiny {
		if !a.tool.has(obj) {
			slack += int64(16 - bits.OnesCount16(b.bytes))
		}
	}
	if slack > 0 {
		const name = "runtime.(gaps of the tiny allocator)"
		a.nodes = append(a.nodes, &Node{Name: name, Bytes: slack, Root: &Root{Kind: KindOther, Name: name, Package: "runtime", class: classRest}})
		a.typed += slack
	}
}

// totals compares what was charged with the collector's mark bits.
func (a *attributor) totals() Totals {
	var t Totals
	g := a.g
	toolTyped := int64(0)
	for i := range g.m.Spans {
		s := &g.m.Spans[i]
		size := int64(s.ElemSize)
		for k := uint32(0); k < s.NElems; k++ {
			obj := s.FirstObj + k
			marked, reached := s.Marked(k), g.marked.has(obj)
			switch {
			case reached && a.tool.has(obj):
				if ty := g.typing[obj]; ty.typ != 0 || ty.form == formInternal || s.Tiny {
					toolTyped += size
				}
			case reached:
				t.AttributedObjects++
				t.AttributedBytes += size
				if !s.Allocated(k) {
					t.ExtraObjects++
					t.ExtraBytes += size
				} else {
					// Alive at the last collection, or allocated since then and in use.
					t.LiveObjects++
					t.LiveBytes += size
				}
			case marked:
				t.LiveObjects++
				t.LiveBytes += size
				t.MissedObjects++
				t.MissedBytes += size
			}
		}
	}
	t.TypedBytes = min(a.typed-toolTyped, t.AttributedBytes)
	return t
}

// report drops the tool's own roots and everything that holds nothing.
func (a *attributor) report() []*Node {
	var out []*Node
	for _, n := range a.nodes {
		if n.Root.class != classTool && n.prune() {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(x, y *Node) int {
		if c := x.Root.compare(y.Root); c != 0 {
			return c
		}
		return strings.Compare(x.Type, y.Type)
	})
	return out
}

// prune removes empty subtrees; false if nothing is left.
func (n *Node) prune() bool {
	n.Children = slices.DeleteFunc(n.Children, func(c *Node) bool { return !c.prune() })
	return n.Objects > 0 || n.Bytes > 0 || len(n.Children) > 0
}
