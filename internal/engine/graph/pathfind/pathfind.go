// Package pathfind finds the paths of references that keep one object alive.
package pathfind

import (
	"github.com/leakgate/leakgate/internal/engine/graph/edges"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
)

// A Path leads from a root to one object.
type Path struct {
	Root     *root.Root
	RootType string // of the variable, "" if unknown
	Pending  root.Pending
	Steps    []Step
}

// A Step is an edge of a path.
type Step struct {
	Label   string   // which reference of the holder; "" for the root variable itself
	Type    string   // of the reference, as in Node; "" if unknown
	State   string   // "closed", "done" or the like: the use of the targets is over
	Objects []uint32 // targets, several if only their addresses tell them apart
	Beyond  bool     // an element that no slice of its holder reaches holds the reference
}

// A Finder finds paths to objects of a heap. It is not safe for concurrent use.
type Finder struct {
	heap    *typedheap.Heap
	program root.Program
	ignore  func(holder, label string) bool
	laid    *edges.Graph // see pathfinder.lay; nil: objects are walked
	walks   bool         // edges are not laid out, for tests
}

// New prepares a search. References for which ignore returns true do not count. It may be nil.
func New(h *typedheap.Heap, program root.Program, ignore func(holder, label string) bool) *Finder {
	return &Finder{heap: h, program: program, ignore: ignore}
}

// Release gives memory back.
func (f *Finder) Release() { f.laid.Release() }

// Paths returns up to limit paths that keep the object at an address alive. The first is the
// shortest. Each further path is the shortest that avoids one reference of every path before it:
// the last one that not all paths have in common. Removing only that reference leaves the object
// alive. Among paths of equal length the order of roots decides, then labels and types, so that
// equal heaps give equal paths.
//
// It takes time in proportion to the size of the heap, and 7 to 9 bytes an object until Release for
// the references of all objects, if there is room for that. Values that share a block are looked
// for by walking, since only references to the address itself count.
func (f *Finder) Paths(addr uint64, limit int) ([]Path, error) {
	target, err := f.heap.Target(addr)
	if err != nil {
		return nil, err
	}
	p := f.pathfinder(target.Shared)
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

// pathfinder searches breadth first from the roots, class by class as attribution does, so that a
// named root is found before the runtime's own.
type pathfinder struct {
	heap    *typedheap.Heap
	walk    *edges.Walk
	laid    *edges.Graph
	roots   []*root.Entry
	target  uint32
	addr    uint64
	shared  bool // only references to the address itself count
	ignore  func(holder, label string) bool
	classes *root.Classes
	ended   *typing.Endings
	phase   root.Class
	seen    objset.Set

	typeNames map[typing.Typing]string // made so far

	bridges  map[reference]bool // on every path to the target
	cuts     map[reference]bool // on a path that was found
	cutNodes objset.Set         // objects that hold such references

	holder     uint32 // object whose references are visited
	holderType string // its type, once it is needed
	someCut    bool   // some of its references are cut
	visit      func(heaptype.Edge)
	// All pointers of a holder whose type leaves some out are visited after its typed references;
	// typed has the addresses that these lead to.
	partial bool
	typed   map[uint64]bool
}

// A reference of a root, by label, or of an object, by its place in the holder's order.
type reference struct {
	root  *root.Entry
	label string
	node  uint32
	ref   uint32
}

// nowhere is the number of no object.
const nowhere = ^uint32(0)

// pathfinder returns a pathfinder, which walks or follows edges.
func (f *Finder) pathfinder(walks bool) *pathfinder {
	h := f.heap
	p := &pathfinder{
		heap: h, roots: root.List(h, f.program), target: nowhere, ignore: f.ignore, classes: root.NewClasses(h.Types, f.program),
		typeNames: make(map[typing.Typing]string), cuts: make(map[reference]bool), cutNodes: objset.New(h.NumNodes()),
	}
	p.ended = typing.NewEndings(h.Types)
	p.walk = edges.NewWalk(h, p.reference)
	if !walks && !f.walks {
		if f.laid == nil {
			f.laid = p.lay()
		}
		p.laid = f.laid
	}
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
				p.cutNodes.Add(r.node)
			}
		}
		if found {
			return true
		}
	}
	return false
}

// next finds the shortest path without a cut reference. Further paths do not start at the runtime's
// own roots: these include compiler-made data that variables lead through, and tell nothing new.
func (p *pathfinder) next(further bool) (tracedPath, bool) {
	p.seen = objset.New(p.heap.NumNodes())
	last := root.ClassWeak
	if further {
		last = root.ClassSpecial
	}
	var l levels
	defer l.release()
	l.order = offheap.Make(int(p.heap.NumNodes()))
	l.first = offheap.Make(int(p.heap.NumNodes()) + 1)
	for p.phase = root.ClassNamed; p.phase <= last; p.phase++ {
		if !p.phase.IsTool() && p.search(&l) {
			return p.retrace(&l), true
		}
	}
	return tracedPath{}, false
}

// levels are the objects at each distance from the roots, one level behind the other.
type levels struct {
	order []uint32
	n     uint32   // in use
	first []uint32 // by level: its first object
	depth int      // levels in use
}

func (l *levels) release() {
	offheap.Free(l.order)
	offheap.Free(l.first)
}

// begin begins another level behind the last.
func (l *levels) begin() {
	l.first[l.depth] = l.n
	l.depth++
}

// level returns the objects of one level.
func (l *levels) level(k int) []uint32 {
	if k+1 < l.depth {
		return l.order[l.first[k]:l.first[k+1]]
	}
	return l.order[l.first[k]:l.n]
}

// search fills in the objects at each distance from the roots of this phase, up to the target's,
// and reports whether it was found.
func (p *pathfinder) search(l *levels) bool {
	l.n, l.depth = 0, 0
	l.begin()
	add := func(node uint32) {
		if p.seen.Add(node) {
			l.order[l.n] = node
			l.n++
		}
	}
	p.rootTargets(add)
	for {
		level := l.level(l.depth - 1)
		if len(level) == 0 || p.seen.Has(p.target) {
			return len(level) > 0
		}
		l.begin()
		for _, node := range level {
			p.follow(node, add, nil)
		}
	}
}

// rootTargets visits what the roots of this phase refer to. It is not worth its code twice.
//
//go:noinline
func (p *pathfinder) rootTargets(visit func(node uint32)) {
	p.fromRoots(func(_ *root.Entry, _ string, to uint64) {
		if node, ok := p.node(heaptype.Edge{To: to}); ok {
			visit(node)
		}
	})
}

// fromRoots visits the references of the roots of this phase, except those that are cut or ignored.
func (p *pathfinder) fromRoots(visit func(r *root.Entry, label string, to uint64)) {
	for _, r := range p.roots {
		if r.Class != p.phase {
			continue
		}
		for i := range r.Edges {
			to, label := r.Edges[i].To, r.Label(&r.Edges[i])
			if p.cuts[reference{root: r, label: label}] || p.ignore != nil && p.ignore(r.Type, label) {
				continue
			}
			if r.Kind == root.KindTimer && label == typedheap.TimerLabel && p.detour(to) {
				continue
			}
			visit(r, label, to)
		}
	}
}

// detour reports whether a path through a timer is a detour: the timer is not the target, and its
// root itself refers to what the timer's function holds.
func (p *pathfinder) detour(timer uint64) bool {
	_, obj := p.heap.Model.Object(timer)
	return p.target < p.heap.AnonymousBase() && obj != p.target
}

// node returns the object or data that a reference leads to. Parts of maps and channels belong to
// their holder. In a block that values share, only references to the target's own address count.
func (p *pathfinder) node(e heaptype.Edge) (uint32, bool) {
	if e.Ref == heaptype.RefInternal {
		return 0, false
	}
	to, ok := p.walk.Target(e.To)
	if !ok || !p.inPhase(to.Node, to.Typing) || to.Node == p.target && p.shared && e.To != p.addr {
		return 0, false
	}
	return to.Node, true
}

// inPhase reports whether the roots of this phase may hold an object.
func (p *pathfinder) inPhase(node uint32, ty typing.Typing) bool {
	return node >= p.heap.AnonymousBase() || p.classes.Of(ty.Type) <= p.phase
}

// part marks edges that lead to a part of a map or channel.
const part = edges.Mark1

// lay lays out the references of all objects, except those that are ignored.
func (p *pathfinder) lay() *edges.Graph {
	var by *edges.Writer
	visit := func(e heaptype.Edge) {
		if e.Ref == heaptype.RefInternal {
			if obj, ok := p.part(e); ok {
				by.Edge(obj | part)
			}
		} else if to, ok := p.walk.Target(e.To); ok {
			by.Edge(to.Node)
		}
	}
	return edges.Lay(p.heap, func(w *edges.Writer, node uint32) {
		by = w
		p.references(node, visit)
	})
}

// part returns the object that is a part of a map or channel.
func (p *pathfinder) part(e heaptype.Edge) (obj uint32, ok bool) {
	s, obj := p.heap.Model.Object(e.To)
	return obj, s != nil && p.heap.Live.Marked.Has(obj)
}

// follow visits what an object refers to, except by references that are cut or ignored. parts
// visits the parts of a map or channel; nil: they are left out.
func (p *pathfinder) follow(node uint32, visit, parts func(node uint32)) {
	if p.laid == nil || p.cutNodes.Has(node) {
		p.references(node, func(e heaptype.Edge) {
			if to, ok := p.node(e); ok {
				visit(to)
			} else if e.Ref == heaptype.RefInternal && parts != nil {
				if obj, ok := p.part(e); ok {
					parts(obj)
				}
			}
		})
		return
	}
	for _, e := range p.walk.Laid(p.laid, node) {
		switch to := e &^ (edges.Marks | edges.Last); {
		case e&part == 0:
			if p.inPhase(to, p.walk.TypingOf(to)) {
				visit(to)
			}
		case parts != nil:
			parts(to)
		}
		if e&edges.Last != 0 {
			break
		}
	}
}

// references visits the references of one object, except those that are cut or ignored.
func (p *pathfinder) references(node uint32, visit func(heaptype.Edge)) {
	p.holder, p.holderType, p.visit = node, "", visit
	p.someCut = p.cutNodes.Has(node)
	p.partial, p.typed = !p.walk.TypingOf(node).Full, nil
	p.walk.From(node)
}

// reference visits a reference of the holder, but not the pointer of a typed one once more.
func (p *pathfinder) reference(e heaptype.Edge) {
	switch {
	case !p.partial:
	case e.Ref != heaptype.RefUnknown:
		if p.typed == nil {
			p.typed = make(map[uint64]bool)
		}
		p.typed[e.To] = true
	case p.typed[e.To]:
		return
	}
	if p.someCut && p.cuts[reference{node: p.holder, ref: e.Ref}] {
		return
	}
	if p.ignore != nil && e.Ref != heaptype.RefInternal {
		if p.holderType == "" {
			p.holderType = p.typeName(p.holder)
		}
		if p.ignore(p.holderType, p.label(p.holder, e)) {
			return
		}
	}
	p.visit(e)
}

func (p *pathfinder) typeName(node uint32) string {
	ty := p.walk.TypingOf(node)
	if ty.Type == 0 {
		return ""
	}
	name, known := p.typeNames[ty]
	if !known {
		name = typing.RefName(p.heap.Types, ty)
		p.typeNames[ty] = name
	}
	return name
}

func (p *pathfinder) label(node uint32, e heaptype.Edge) string {
	ty := p.walk.TypingOf(node)
	return heaptype.LabelOf(p.heap.Types.At(ty.Type), ty.Layout, e.Ref)
}

// A tracedPath is a path with the references that it is made of; keys[k] lead to Steps[k].
type tracedPath struct {
	Path
	keys [][]reference
}

// bytesPerStep is about what a step takes on the heap, with the references that it is made of.
const bytesPerStep = 512

// retrace picks one path out of all shortest ones. Each step is the least in the order of labels
// and types; objects that are alike in both are followed side by side, since nothing but addresses
// tells them apart.
func (p *pathfinder) retrace(l *levels) tracedPath {
	last := l.depth - 1
	offheap.Ask(int64(last) * bytesPerStep)
	// towards contains the objects that lead to the target on a shortest path. References lead at
	// most to the next level, so that one set does for all levels: it is filled from the last level
	// on, and later emptied level by level from the first on.
	towards := objset.New(p.heap.NumNodes())
	towards.Add(p.target)
	leading := offheap.Make(last + 1) // by level: how many of its objects are in towards, first
	defer offheap.Free(leading)
	leads := false
	look := func(to uint32) { leads = leads || towards.Has(to) }
	for k := last - 1; k >= 0; k-- {
		level := l.level(k)
		for _, node := range level {
			leads = false
			if p.follow(node, look, nil); leads {
				level[leading[k]] = node
				leading[k]++
			}
		}
		for _, node := range level[:leading[k]] {
			towards.Add(node)
		}
	}
	var from *root.Entry
	var c choices
	p.fromRoots(func(r *root.Entry, label string, addr uint64) {
		if from != nil && r != from {
			return
		}
		if to, ok := p.node(heaptype.Edge{To: addr}); ok && towards.Has(to) {
			from = r
			c.add(Step{Label: label, Type: p.typeName(to)}, reference{root: r, label: label}, to)
		}
	})
	own := from.Root
	path := tracedPath{Path: Path{Root: &own, RootType: from.Type, Pending: from.Pending}}
	p.take(&path, &c)
	choose := func(e heaptype.Edge) {
		if to, ok := p.node(e); ok && towards.Has(to) {
			c.add(Step{Label: p.label(p.holder, e), Type: p.typeName(to)}, reference{node: p.holder, ref: e.Ref}, to)
		}
	}
	for k := 1; k <= last; k++ {
		for _, node := range l.level(k - 1)[:leading[k-1]] {
			towards.Remove(node)
		}
		for _, node := range path.Steps[k-1].Objects {
			p.references(node, choose)
		}
		p.take(&path, &c)
	}
	for k := 1; k <= last; k++ {
		path.Steps[k].Beyond = p.isBeyond(&path, k, from)
	}
	return path
}

func (p *pathfinder) take(t *tracedPath, c *choices) {
	step, keys := c.least()
	for i, node := range step.Objects {
		state, over := "", false
		if node < p.heap.AnonymousBase() {
			state, over = p.ended.Of(node, p.heap.Typings.Of(node), true)
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

// findBridges finds the references of the first path that every path to the target contains. It
// goes along the path and follows, from the roots and from each of its objects, all references
// except the path's own. The furthest object of the path that is reached in this way shows how far
// the path can be bypassed.
func (p *pathfinder) findBridges(t tracedPath) {
	p.bridges = make(map[reference]bool)
	place := make(map[uint32]int) // by object of the path: the index of its step
	for k, step := range t.Steps {
		for _, node := range step.Objects {
			place[node] = k
		}
	}
	own := t.references()
	reached := -1
	p.seen = objset.New(p.heap.NumNodes())
	p.phase = root.ClassSpecial
	todo := objset.NewWorklist(p.heap.NumNodes())
	take := func(node uint32) {
		if k, on := place[node]; on {
			reached = max(reached, k)
		} else if p.seen.Add(node) {
			todo.Add(node)
		}
	}
	for p.phase = root.ClassNamed; ; p.phase++ {
		p.fromRoots(func(r *root.Entry, label string, to uint64) {
			if node, ok := p.node(heaptype.Edge{To: to}); ok && !own[reference{root: r, label: label}] {
				take(node)
			}
		})
		if p.phase == root.ClassSpecial {
			break
		}
	}
	for k := range t.Steps {
		for node, ok := todo.Take(); ok; node, ok = todo.Take() {
			p.follow(node, take, nil)
		}
		if reached < k {
			for _, key := range t.keys[k] {
				p.bridges[key] = true
			}
		}
		for _, node := range t.Steps[k].Objects {
			p.references(node, func(e heaptype.Edge) {
				if to, ok := p.node(e); ok && !own[reference{node: node, ref: e.Ref}] {
					take(to)
				}
			})
		}
	}
}

// references returns the references that the path goes along.
func (t *tracedPath) references() map[reference]bool {
	own := make(map[reference]bool)
	for _, keys := range t.keys {
		for _, k := range keys {
			own[k] = true
		}
	}
	return own
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

// Retained returns how many objects, of how many bytes, would be garbage if the object at an
// address were, itself included: what the roots reach, less what they reach without it.
func (f *Finder) Retained(addr uint64) (objects, bytes int64, err error) {
	target, err := f.heap.Target(addr)
	if err != nil {
		return 0, 0, err
	}
	p := f.pathfinder(false)
	allObjects, allBytes := p.reach(nowhere)
	objects, bytes = p.reach(target.Object)
	return allObjects - objects, allBytes - bytes, nil
}

// reach counts what the roots reach without passing through an object.
func (p *pathfinder) reach(without uint32) (objects, bytes int64) {
	h := p.heap
	p.seen = objset.New(h.NumNodes())
	if without != nowhere {
		p.seen.Add(without)
	}
	todo := objset.NewWorklist(h.NumNodes())
	count := func(node uint32) bool {
		isNew := p.seen.Add(node)
		if isNew && node < h.AnonymousBase() {
			objects++
			bytes += int64(h.Model.SpanOf(node).ElemSize)
		}
		return isNew
	}
	take := func(node uint32) {
		if count(node) {
			todo.Add(node)
		}
	}
	parts := func(obj uint32) { count(obj) }
	for p.phase = root.ClassNamed; p.phase <= root.ClassWeak; p.phase++ {
		if p.phase.IsTool() {
			continue
		}
		p.rootTargets(take)
		for node, ok := todo.Take(); ok; node, ok = todo.Take() {
			p.follow(node, take, parts)
		}
	}
	return objects, bytes
}
