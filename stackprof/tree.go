package stackprof

import "github.com/leakgate/leakgate/refscan"

// maxExact is the number of frames up to which a stack is shown as it is. A path of n frames needs
// n samples of up to n locations each.
const maxExact = 256

// tree has all stacks, from their roots: a node for each path of locations, with the bytes that are
// charged to it.
type tree struct {
	places *places
	roots  []*node // one for each set of labels, in the order of their first use
	byKey  map[*refscan.StackLabel]*node
}

type node struct {
	loc      *place // nil for a root
	parent   *node
	children map[*place]*node
	order    []*node // the children, as they came
	labels   []refscan.StackLabel

	inUse, total, goroutines int64
}

func newTree(s *refscan.Stacks) *tree {
	t := &tree{places: newPlaces(), byKey: make(map[*refscan.StackLabel]*node)}
	for _, g := range groups(s.Goroutines) {
		t.addGroup(g)
	}
	t.addOthers(s)
	return t
}

func (t *tree) root(labels []refscan.StackLabel) *node {
	var key *refscan.StackLabel
	if len(labels) > 0 {
		key = &labels[0]
	}
	r := t.byKey[key]
	if r == nil {
		r = &node{labels: labels}
		t.byKey[key] = r
		t.roots = append(t.roots, r)
	}
	return r
}

// child returns the child at a place. Inlined at its calls it would take 4 KB.
//
//go:noinline
func (n *node) child(loc *place) *node {
	c := n.children[loc]
	if c == nil {
		if n.children == nil {
			n.children = make(map[*place]*node)
		}
		c = &node{loc: loc, parent: n}
		n.children[loc] = c
		n.order = append(n.order, c)
	}
	return c
}

// charge adds bytes of stacks to a node.
func (n *node) charge(inUse, total int64) {
	n.inUse += inUse
	n.total += total
}

// addGroup charges all of the stacks of a group of goroutines.
func (t *tree) addGroup(g *group) {
	at := t.root(g.labels)
	if g.system {
		at = at.child(t.places.named(SystemGoroutines))
	}
	frames, base := writtenFrames(g.trace)
	var first *node // of the goroutines' first function
	if g.trace.Unknown == 0 && len(frames) > 0 {
		first = at.child(t.places.frame(frames[len(frames)-1].StackLocation).own)
	} else {
		if g.entry != "" { // the goroutine of a thread that C made has none
			at = at.child(t.places.named(g.entry))
		}
		first = at
		at = at.child(t.places.named(UnknownFrames))
		at.charge(g.count*g.trace.Unknown, g.count*g.trace.Unknown)
	}
	if g.free > 0 {
		first.child(t.places.named(FreeStack)).charge(0, g.free)
	}
	if base > 0 {
		first.child(t.places.named(StackBase)).charge(g.count*base, g.count*base)
	}
	t.addFrames(at, frames, g.count)
}

// addFrames charges the frames below a node, the outermost first.
func (t *tree) addFrames(at *node, frames []refscan.StackFrame, count int64) {
	var onPath map[*place]bool // for stacks that are folded
	if len(frames) > maxExact {
		onPath = make(map[*place]bool)
	}
	innermost := at
	for i := len(frames) - 1; i >= 0; i-- {
		p := t.places.frame(frames[i].StackLocation)
		innermost = at.child(p.own)
		innermost.charge(count*frames[i].Size, count*frames[i].Size)
		if p.full != p.own {
			innermost = at.child(p.full)
		}
		if onPath[p.full] {
			continue
		}
		if onPath != nil {
			onPath[p.full] = true
		}
		at = innermost
	}
	innermost.goroutines += count
}

// writtenFrames leaves out the outermost frames that are not in the source: runtime.goexit, to
// which every goroutine returns at its end, and the wrapper that a go statement with arguments
// makes. base is their size, with that of the words above them.
func writtenFrames(t *refscan.StackTrace) (frames []refscan.StackFrame, base int64) {
	frames, base = t.Frames, t.Base
	for n := len(frames); n > 0; n-- {
		f := frames[n-1]
		wrapper := f.Wrapper && len(f.Inlined) == 0 && n > 1
		if f.Func != "runtime.goexit" && !wrapper {
			break
		}
		base += f.Size
		frames = frames[:n-1]
	}
	return frames, base
}

// otherRoots says where the profile shows stacks that belong to no goroutine.
var otherRoots = map[refscan.StackKind]struct {
	root, name string
	used       bool
}{
	refscan.StackThread:    {ThreadStacks, "runtime.g0", true},
	refscan.StackSignal:    {ThreadStacks, "runtime.gsignal", true},
	refscan.StackCrash:     {ThreadStacks, "runtime.gcrash", true},
	refscan.StackSystem:    {ThreadStacks, "os stacks", true},
	refscan.StackEnded:     {IdleStacks, "ended goroutines", false},
	refscan.StackCached:    {IdleStacks, "runtime.mcache.stackcache", false},
	refscan.StackPooled:    {IdleStacks, "runtime.stackpool", false},
	refscan.StackLargeFree: {IdleStacks, "runtime.stackLarge", false},
}

func (t *tree) addOthers(s *refscan.Stacks) {
	root := t.root(nil)
	for _, o := range s.Others {
		at := otherRoots[o.Kind]
		if at.root == "" {
			at.root, at.name = Unattributed, string(o.Kind)
		}
		n := root.child(t.places.named(at.root)).child(t.places.named(at.name))
		n.charge(0, o.Bytes)
		if at.used {
			n.inUse += o.Bytes
		}
	}
	// A negative number would mean that memory was counted twice; it is shown just the same.
	if s.Unattributed != 0 {
		root.child(t.places.named(Unattributed)).charge(0, s.Unattributed)
	}
}

// samples visits the nodes that something is charged to, parents first.
func (t *tree) samples(visit func(n *node, labels []refscan.StackLabel)) {
	for _, r := range t.roots {
		pending := []*node{r}
		for len(pending) > 0 {
			n := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			for i := len(n.order) - 1; i >= 0; i-- {
				pending = append(pending, n.order[i])
			}
			if n.inUse != 0 || n.total != 0 || n.goroutines != 0 {
				visit(n, r.labels)
			}
		}
	}
}
