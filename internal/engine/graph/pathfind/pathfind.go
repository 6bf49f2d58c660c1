// Package pathfind finds the paths of references that keep one object alive.
package pathfind

import (
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/timer"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
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

// Paths returns up to limit paths that keep the object at an address alive. The first is the
// shortest. Each further path is the shortest that avoids one reference of every path before it:
// the last one that not all paths have in common. Removing only that reference leaves the object
// alive. Among paths of equal length the order of roots decides, then labels and types, so that
// equal heaps give equal paths. References for which ignore returns true do not count.
//
// It takes time in proportion to the size of the heap, twice for each path.
func Paths(h *typedheap.Heap, program root.Program, addr uint64, limit int, ignore func(holder, label string) bool) ([]Path, error) {
	target, err := h.Target(addr)
	if err != nil {
		return nil, err
	}
	p := newPathfinder(h, program, ignore)
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
	w       heaptype.Walker
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

	visited    uint32 // objects so far
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

func newPathfinder(h *typedheap.Heap, program root.Program, ignore func(holder, label string) bool) *pathfinder {
	p := &pathfinder{
		heap: h, roots: root.List(h, program), target: ^uint32(0), ignore: ignore, classes: root.NewClasses(h.Types, program),
		typeNames: make(map[typing.Typing]string), cuts: make(map[reference]bool), cutNodes: objset.New(h.NumNodes()),
	}
	p.ended = typing.NewEndings(h.Types)
	p.w = heaptype.Walker{Types: h.Types, Emit: p.reference}
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
	visit := func(e heaptype.Edge) {
		if node, ok := p.node(e); ok && p.seen.Add(node) {
			l.order[l.n] = node
			l.n++
		}
	}
	p.fromRoots(func(_ *root.Entry, _ string, to uint64) { visit(heaptype.Edge{To: to}) })
	for {
		level := l.level(l.depth - 1)
		if len(level) == 0 || p.seen.Has(p.target) {
			return len(level) > 0
		}
		l.begin()
		for _, node := range level {
			p.references(node, visit)
		}
	}
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
			if r.Kind == root.KindTimer && label == timer.Label && p.detour(to) {
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
	h := p.heap
	if e.Ref == heaptype.RefInternal {
		return 0, false
	}
	s, obj := h.Model.Object(e.To)
	if s == nil {
		i, ok := h.Anonymous.At(e.To)
		return h.AnonymousBase() + uint32(i), ok
	}
	ty := h.Typings.Of(obj)
	if !h.Live.Marked.Has(obj) || ty.Layout == heaptype.LayoutInternal || p.classes.Of(ty.Type) > p.phase {
		return 0, false
	}
	if obj == p.target && p.shared && e.To != p.addr {
		return 0, false
	}
	return obj, true
}

// references visits the references of one object, except those that are cut or ignored.
func (p *pathfinder) references(node uint32, visit func(heaptype.Edge)) {
	if p.visited++; p.visited%goruntime.ObjectsBetween == 0 {
		p.heap.Model.InTime()
	}
	p.holder, p.holderType, p.visit = node, "", visit
	p.someCut = p.cutNodes.Has(node)
	p.partial, p.typed = !p.typing(node).Full, nil
	p.heap.References(&p.w, node)
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

func (p *pathfinder) typing(node uint32) typing.Typing {
	if node >= p.heap.AnonymousBase() {
		return p.heap.Anonymous.List[node-p.heap.AnonymousBase()].Typing
	}
	return p.heap.Typings.Of(node)
}

func (p *pathfinder) typeName(node uint32) string {
	ty := p.typing(node)
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
	ty := p.typing(node)
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
	look := func(e heaptype.Edge) {
		if !leads {
			to, ok := p.node(e)
			leads = ok && towards.Has(to)
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
	visit := func(e heaptype.Edge) {
		node, ok := p.node(e)
		if !ok {
			return
		}
		if k, on := place[node]; on {
			reached = max(reached, k)
		} else if p.seen.Add(node) {
			todo.Add(node)
		}
	}
	for p.phase = root.ClassNamed; ; p.phase++ {
		p.fromRoots(func(r *root.Entry, label string, to uint64) {
			if !own[reference{root: r, label: label}] {
				visit(heaptype.Edge{To: to})
			}
		})
		if p.phase == root.ClassSpecial {
			break
		}
	}
	for k := range t.Steps {
		for node, ok := todo.Take(); ok; node, ok = todo.Take() {
			p.references(node, visit)
		}
		if reached < k {
			for _, key := range t.keys[k] {
				p.bridges[key] = true
			}
		}
		for _, node := range t.Steps[k].Objects {
			p.references(node, func(e heaptype.Edge) {
				if !own[reference{node: node, ref: e.Ref}] {
					visit(e)
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
func Retained(h *typedheap.Heap, program root.Program, addr uint64, ignore func(holder, label string) bool) (objects, bytes int64, err error) {
	target, err := h.Target(addr)
	if err != nil {
		return 0, 0, err
	}
	allObjects, allBytes := reach(h, program, nil, ignore)
	objects, bytes = reach(h, program, &target, ignore)
	return allObjects - objects, allBytes - bytes, nil
}

// reach counts what the roots reach on paths that avoid the object without; nil: on all paths.
func reach(h *typedheap.Heap, program root.Program, without *typedheap.Target, ignore func(holder, label string) bool) (objects, bytes int64) {
	p := newPathfinder(h, program, ignore)
	p.seen = objset.New(h.NumNodes())
	if without != nil {
		p.seen.Add(without.Object)
	}
	todo := objset.NewWorklist(h.NumNodes())
	count := func(node uint32) {
		if node < h.AnonymousBase() {
			objects++
			bytes += int64(h.Model.SpanOf(node).ElemSize)
		}
	}
	visit := func(e heaptype.Edge) {
		if e.Ref == heaptype.RefInternal {
			if s, obj := h.Model.Object(e.To); s != nil && h.Live.Marked.Has(obj) && p.seen.Add(obj) {
				count(obj)
			}
			return
		}
		if node, ok := p.node(e); ok && p.seen.Add(node) {
			count(node)
			todo.Add(node)
		}
	}
	for p.phase = root.ClassNamed; p.phase <= root.ClassWeak; p.phase++ {
		if p.phase.IsTool() {
			continue
		}
		p.fromRoots(func(_ *root.Entry, _ string, to uint64) { visit(heaptype.Edge{To: to}) })
		for node, ok := todo.Take(); ok; node, ok = todo.Take() {
			p.references(node, visit)
		}
	}
	return objects, bytes
}
