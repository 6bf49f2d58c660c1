package heapgraph

import (
	"errors"

	"github.com/leakgate/leakgate/refscan/internal/offheap"
)

// A Path leads from a root to one object.
type Path struct {
	Root     *Root
	RootType string // of the variable, "" if unknown
	Steps    []Step
}

// A Step is an edge of a path.
type Step struct {
	Label   string   // which reference of the holder; "" for the root variable itself
	Type    string   // of the reference, as in Node; "" if unknown
	State   string   // "closed", "done" or the like: the use of what it leads to is over
	Objects []uint32 // that it leads to: those that only their addresses tell apart
}

// Errors of Paths.
var (
	ErrNotOnHeap = errors.New("the address is not on the heap")
	ErrNotAlive  = errors.New("the object is not alive")
)

// A Target is the object that an address lies in.
type Target struct {
	Object uint32
	Type   string // of a reference to it, "" if unknown
	Shared bool   // it is a block of the tiny allocator, which several values share
	Inner  bool   // the address does not lie at its start
}

// Target finds the object that an address of the process lies in.
func (g *Graph) Target(addr uint64) (Target, error) {
	s, obj := g.m.Object(addr)
	if s == nil {
		return Target{}, ErrNotOnHeap
	}
	if !g.marked.has(obj) {
		return Target{}, ErrNotAlive
	}
	t := Target{Object: obj, Shared: s.Tiny}
	_, start := g.payload(s, obj)
	t.Inner = addr != start
	if ty := g.typing.of(obj); ty.typ != 0 {
		t.Type = g.types.refName(ty)
	}
	return t, nil
}

// Paths returns up to limit paths that keep the object at an address alive: the shortest first, and each of
// the others the shortest that avoids, of every path before it, the last reference that not all paths have
// in common: whoever removes that one reference will find the object still alive. Among paths of equal length the order of roots decides, then labels and types, so that equal heaps give
// equal paths. References for which ignore returns true do not count.
//
// It takes time in proportion to the size of the heap, twice for each path.
func (g *Graph) Paths(addr uint64, limit int, ignore func(holder, label string) bool) ([]Path, error) {
	target, err := g.Target(addr)
	if err != nil {
		return nil, err
	}
	p := newPathfinder(g, ignore)
	p.target, p.addr = target.Object, addr
	p.shared = target.Shared
	var paths []Path
	for len(paths) < limit {
		t, ok := p.next(len(paths) > 0)
		if !ok {
			break
		}
		paths = append(paths, t.Path)
		if len(paths) == limit {
			break
		}
		if len(paths) == 1 {
			p.findBridges(t)
		}
		if !p.cutLast(t) {
			break
		}
	}
	return paths, nil
}

// numNodes counts the heap's objects and the pieces of compiler-made data.
func (g *Graph) numNodes() uint32 { return g.staticBase() + uint32(len(g.pieces)) }

// pathfinder searches breadth first from the roots, class by class as attribution does, so that a named
// root is found before the runtime's own.
type pathfinder struct {
	g      *Graph
	w      walker
	roots  []*rootEntry
	target uint32
	addr   uint64
	shared bool // only references to the address itself count
	ignore func(holder, label string) bool
	turns  *attributor
	phase  class
	seen   bitset

	bridges  map[reference]bool // on every path to the target
	cuts     map[reference]bool // on a path that was found
	cutNodes bitset             // the objects that have such references

	holder     uint32 // whose references are visited
	holderType string // once it is needed
	someCut    bool   // of its references
	visit      func(edge)
}

// A reference of a root, by label, or of an object, by its place in the holder's order.
type reference struct {
	root  *rootEntry
	label string
	node  uint32
	ord   uint32
}

func newPathfinder(g *Graph, ignore func(holder, label string) bool) *pathfinder {
	p := &pathfinder{
		g: g, roots: g.roots(), target: ^uint32(0), ignore: ignore, turns: &attributor{g: g},
		cuts: make(map[reference]bool), cutNodes: newBitset(g.numNodes()),
	}
	p.w = walker{g: g, emit: p.reference}
	return p
}

// cutLast cuts the last reference of a path that is no bridge, if it has one.
func (p *pathfinder) cutLast(t tracedPath) bool {
	for k := len(t.keys) - 1; k >= 0; k-- {
		found := false
		for _, r := range t.keys[k] {
			if p.bridges[r] {
				continue
			}
			found = true
			p.cuts[r] = true
			if r.root == nil {
				p.cutNodes.add(r.node)
			}
		}
		if found {
			return true
		}
	}
	return false
}

// next finds the shortest path without a cut reference. The runtime's own roots include the compiler's data
// that variables lead through, so that they say nothing new once there is a path.
func (p *pathfinder) next(further bool) (tracedPath, bool) {
	p.seen = newBitset(p.g.numNodes())
	last := classRuntime
	if further {
		last = classSpecial
	}
	l := levels{order: offheap.Make(int(p.g.numNodes()))}
	defer func() { offheap.Free(l.order) }()
	for p.phase = classNamed; p.phase <= last; p.phase++ {
		if p.search(&l) {
			return p.retrace(&l), true
		}
	}
	return tracedPath{}, false
}

// levels are the objects at each distance from the roots, one level behind the other.
type levels struct {
	order []uint32
	n     int   // in use
	first []int // by level: its first object
}

// level returns the objects of one level.
func (l *levels) level(k int) []uint32 {
	if k+1 < len(l.first) {
		return l.order[l.first[k]:l.first[k+1]]
	}
	return l.order[l.first[k]:l.n]
}

// search fills in the objects at each distance from the roots of this phase, up to the target's, and reports whether it was found.
func (p *pathfinder) search(l *levels) bool {
	l.n, l.first = 0, append(l.first[:0], 0)
	visit := func(e edge) {
		if node, ok := p.node(e); ok && p.seen.add(node) {
			l.order[l.n] = node
			l.n++
		}
	}
	p.fromRoots(func(_ *rootEntry, re rootEdge) { visit(edge{to: re.to}) })
	for {
		level := l.level(len(l.first) - 1)
		if len(level) == 0 || p.seen.has(p.target) {
			return len(level) > 0
		}
		l.first = append(l.first, l.n)
		for _, node := range level {
			p.references(node, visit)
		}
	}
}

// fromRoots visits the references of the roots of this phase, but those that were cut or are to be ignored.
func (p *pathfinder) fromRoots(visit func(*rootEntry, rootEdge)) {
	for _, r := range p.roots {
		if r.class != p.phase {
			continue
		}
		for _, re := range r.edges {
			if p.cuts[reference{root: r, label: re.label}] || p.ignore != nil && p.ignore(r.typ, re.label) {
				continue
			}
			visit(r, re)
		}
	}
}

// node resolves a reference. Parts of maps and channels belong to their holder, and of a block that
// values share only the target's own bytes count.
func (p *pathfinder) node(e edge) (uint32, bool) {
	g := p.g
	if e.ord == ordInternal {
		return 0, false
	}
	s, obj := g.m.Object(e.to)
	if s == nil {
		i, ok := g.pieceAt[e.to]
		return g.staticBase() + uint32(i), ok
	}
	ty := g.typing.of(obj)
	if !g.marked.has(obj) || ty.form == formInternal || p.turns.turnOf(ty) > p.phase {
		return 0, false
	}
	if obj == p.target && p.shared && e.to != p.addr {
		return 0, false
	}
	return obj, true
}

// references visits the references of one object, but those that were cut or are to be ignored.
func (p *pathfinder) references(node uint32, visit func(edge)) {
	p.holder, p.holderType, p.visit = node, "", visit
	p.someCut = p.cutNodes.has(node)
	p.g.references(&p.w, node)
}

// reference visits a reference of the holder.
func (p *pathfinder) reference(e edge) {
	if p.someCut && p.cuts[reference{node: p.holder, ord: e.ord}] {
		return
	}
	if p.ignore != nil && e.ord != ordInternal {
		if p.holderType == "" {
			p.holderType = p.typeName(p.holder)
		}
		if p.ignore(p.holderType, p.label(p.holder, e)) {
			return
		}
	}
	p.visit(e)
}

func (p *pathfinder) typing(node uint32) typing {
	if node >= p.g.staticBase() {
		return p.g.pieces[node-p.g.staticBase()].typing
	}
	return p.g.typing.of(node)
}

func (p *pathfinder) typeName(node uint32) string {
	if ty := p.typing(node); ty.typ != 0 {
		return p.g.types.refName(ty)
	}
	return ""
}

func (p *pathfinder) label(node uint32, e edge) string {
	ty := p.typing(node)
	return labelOf(p.g.types.at(ty.typ), ty.form, e.ord)
}

// A tracedPath is a path with the references that it is made of; keys[k] lead to Steps[k].
type tracedPath struct {
	Path
	keys [][]reference
}

// retrace picks one path out of all shortest ones. Each step is the least in the order of labels and
// types; objects that are alike in both are followed side by side, since nothing but addresses tells
// them apart.
func (p *pathfinder) retrace(l *levels) tracedPath {
	last := len(l.first) - 1
	// towards has the objects that lead to the target in time. References lead to the next level at most, so that looking
	// from the last level on, and later dropping level by level, it need not tell levels apart.
	towards := newBitset(p.g.numNodes())
	towards.add(p.target)
	leading := make([]int, last+1) // by level: how many of its objects do; they come first
	leads := false
	look := func(e edge) {
		if !leads {
			to, ok := p.node(e)
			leads = ok && towards.has(to)
		}
	}
	for k := last - 1; k >= 0; k-- {
		level := l.level(k)
		for _, node := range level {
			leads = false
			if p.references(node, look); leads {
				level[leading[k]] = node
				leading[k]++
			}
		}
		for _, node := range level[:leading[k]] {
			towards.add(node)
		}
	}
	var root *rootEntry
	var c choices
	p.fromRoots(func(r *rootEntry, re rootEdge) {
		if root != nil && r != root {
			return
		}
		if to, ok := p.node(edge{to: re.to}); ok && towards.has(to) {
			root = r
			c.add(Step{Label: re.label, Type: p.typeName(to)}, reference{root: r, label: re.label}, to)
		}
	})
	own := root.Root
	path := tracedPath{Path: Path{Root: &own, RootType: root.typ}}
	p.take(&path, &c)
	choose := func(e edge) {
		if to, ok := p.node(e); ok && towards.has(to) {
			c.add(Step{Label: p.label(p.holder, e), Type: p.typeName(to)}, reference{node: p.holder, ord: e.ord}, to)
		}
	}
	for k := 1; k <= last; k++ {
		for _, node := range l.level(k - 1)[:leading[k-1]] {
			towards.remove(node)
		}
		for _, node := range path.Steps[k-1].Objects {
			p.references(node, choose)
		}
		p.take(&path, &c)
	}
	return path
}

func (p *pathfinder) take(t *tracedPath, c *choices) {
	step, keys := c.least()
	for i, node := range step.Objects {
		state, over := "", false
		if node < p.g.staticBase() {
			state, over = p.g.ended(node, p.g.typing.of(node), true)
		}
		if !over {
			step.State = ""
			break
		}
		if i == 0 {
			step.State = state
		}
	}
	t.Steps, t.keys = append(t.Steps, step), append(t.keys, keys)
	c.reset()
}

// findBridges finds the references of the first path that every path to the target has. It goes along the
// path and follows, from the roots and from each object, everything but the path's own references: the
// furthest object of the path that is reached so tells how far the path can be bypassed.
func (p *pathfinder) findBridges(t tracedPath) {
	p.bridges = make(map[reference]bool)
	place := make(map[uint32]int) // of the path's objects on the path
	for k, step := range t.Steps {
		for _, node := range step.Objects {
			place[node] = k
		}
	}
	own := make(map[reference]bool)
	for _, keys := range t.keys {
		for _, k := range keys {
			own[k] = true
		}
	}
	reached := -1
	p.seen = newBitset(p.g.numNodes())
	p.phase = classSpecial
	var todo []uint32
	visit := func(e edge) {
		node, ok := p.node(e)
		if !ok {
			return
		}
		if k, on := place[node]; on {
			reached = max(reached, k)
		} else if p.seen.add(node) {
			todo = append(todo, node)
		}
	}
	follow := func() {
		for len(todo) > 0 {
			node := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			p.references(node, visit)
		}
	}
	for p.phase = classNamed; ; p.phase++ {
		p.fromRoots(func(r *rootEntry, re rootEdge) {
			if !own[reference{root: r, label: re.label}] {
				visit(edge{to: re.to})
			}
		})
		if p.phase == classSpecial {
			break
		}
	}
	for k := range t.Steps {
		follow()
		if reached < k {
			for _, key := range t.keys[k] {
				p.bridges[key] = true
			}
		}
		for _, node := range t.Steps[k].Objects {
			p.references(node, func(e edge) {
				if !own[reference{node: node, ord: e.ord}] {
					visit(e)
				}
			})
		}
	}
}

// choices are the steps that a path can take.
type choices struct {
	steps []Step
	keys  []reference
	nodes []uint32
}

func (c *choices) reset() { c.steps, c.keys, c.nodes = c.steps[:0], c.keys[:0], c.nodes[:0] }

func (c *choices) add(s Step, key reference, node uint32) {
	c.steps, c.keys, c.nodes = append(c.steps, s), append(c.keys, key), append(c.nodes, node)
}

// least returns the first step in order, with the objects it leads to, and its references.
func (c *choices) least() (Step, []reference) {
	best := c.steps[0]
	if len(c.steps) == 1 {
		best.Objects = []uint32{c.nodes[0]}
		return best, []reference{c.keys[0]}
	}
	for _, s := range c.steps[1:] {
		if s.Label < best.Label || s.Label == best.Label && s.Type < best.Type {
			best = s
		}
	}
	var keys []reference
	known := make(map[uint32]bool)
	for i, s := range c.steps {
		if s.Label != best.Label || s.Type != best.Type {
			continue
		}
		keys = append(keys, c.keys[i])
		if !known[c.nodes[i]] {
			known[c.nodes[i]] = true
			best.Objects = append(best.Objects, c.nodes[i])
		}
	}
	return best, keys
}

// Retained returns what would be garbage if the object at an address were, itself included: what is
// reached from the roots, less what is reached without it.
func (g *Graph) Retained(addr uint64, ignore func(holder, label string) bool) (objects, bytes int64, err error) {
	target, err := g.Target(addr)
	if err != nil {
		return 0, 0, err
	}
	allObjects, allBytes := g.reach(nil, ignore)
	objects, bytes = g.reach(&target, ignore)
	return allObjects - objects, allBytes - bytes, nil
}

// reach counts what the roots reach, but not through the object without.
func (g *Graph) reach(without *Target, ignore func(holder, label string) bool) (objects, bytes int64) {
	p := newPathfinder(g, ignore)
	p.seen = newBitset(g.numNodes())
	if without != nil {
		p.seen.add(without.Object)
	}
	var todo []uint32
	count := func(node uint32) {
		if node < g.staticBase() {
			objects++
			bytes += int64(g.m.SpanOf(node).ElemSize)
		}
	}
	visit := func(e edge) {
		if e.ord == ordInternal {
			if s, obj := g.m.Object(e.to); s != nil && g.marked.has(obj) && p.seen.add(obj) {
				count(obj)
			}
			return
		}
		if node, ok := p.node(e); ok && p.seen.add(node) {
			count(node)
			todo = append(todo, node)
		}
	}
	for p.phase = classNamed; p.phase < classTool; p.phase++ {
		p.fromRoots(func(_ *rootEntry, re rootEdge) { visit(edge{to: re.to}) })
		for len(todo) > 0 {
			node := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			p.references(node, visit)
		}
	}
	return objects, bytes
}
