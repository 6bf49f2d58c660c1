// Package attribute charges each object that is alive to one node of a tree: to the root and the
// path of references that reach it soonest. It goes breadth first, so that the shortest path wins;
// ties go by the order of roots, then by the order of references in their holder. Addresses decide
// nothing: objects are grouped before they are charged, and groups are ordered by names.
package attribute

import (
	"sort"

	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/symbol"
)

// Options say who receives the claims, and how the work is divided. The zero value will do.
type Options struct {
	Charged Charged
	Watch   *Watcher // in place of Charged
	Part    *Part    // nil: all roots and nodes

	// Only tests set the other fields. The result does not depend on Workers, TaskSize and
	// Portions.
	Workers  int // goroutines; 0: GOMAXPROCS
	TaskSize int // objects per task; 0: the default
	Portions heaptype.PortionSizes
	MaxTree  int // the tree's largest size; 0: maxTree, -1: roots alone
}

// Run charges every marked object to the root and path that reach it soonest.
//
//go:norace
func Run(h *typedheap.Heap, program root.Program, options Options) *Result {
	watch := options.Watch
	if watch == nil && options.Charged != nil {
		watch = &Watcher{Charge: options.Charged.Claim}
	}
	if options.TaskSize == 0 {
		options.TaskSize = taskSize
	}
	switch options.MaxTree {
	case 0:
		options.MaxTree = maxTree
	case -1:
		options.MaxTree = 0
	}
	a := &attributor{
		heap: h, options: options, ended: typing.NewEndings(h.Types), classes: root.NewClasses(h.Types, program), unclaimed: objset.New(h.NumNodes()), tool: objset.New(h.Model.NumObjects), sorter: objset.New(h.NumNodes()),
		deferred: make(map[root.Class][]uint32), watch: watch,
		order: program.Order, selects: options.Part != nil || program.Order.LeftOutPath != nil, paths: make(Paths),
	}
	copy(a.unclaimed, h.Live.Marked)
	for i := range h.Anonymous.List {
		a.unclaimed.Add(h.AnonymousBase() + uint32(i))
	}
	a.tiny.prepare(h)
	a.gather.prepare(a)
	defer a.release()
	if watch != nil {
		for _, obj := range watch.Cut {
			a.unclaimed.Remove(obj)
		}
	}
	roots := root.List(h, program)
	for a.phase = root.ClassNamed; a.phase <= root.ClassWeak; a.phase++ {
		for _, r := range roots {
			if r.Class == a.phase && (watch == nil || watch.Skip == nil || !watch.Skip(&r.Root)) && a.opens(&r.Root) {
				a.root(r)
			}
		}
		if a.phase == root.ClassLeftOut {
			a.claimLate()
		}
		a.run()
		// after the objects behind named roots of this phase: how earlier phases led to the
		// postponed objects differs from run to run
		a.postponed()
		a.run()
	}
	a.phase = root.ClassRest
	if options.Part != nil {
		a.partials.settle()
		return &Result{Roots: a.report()}
	}
	a.chargeUnattributed()
	a.partials.settle()
	res := &Result{Warnings: h.Model.Warnings}
	if h.Confused || a.size > a.options.MaxTree {
		res.Warnings = append(res.Warnings, "the references are too many or too damaged for a full report: what lies deeper than it goes is counted where it ends")
	}
	res.Totals = a.totals()
	res.Roots = a.report()
	if watch != nil {
		watch.Tiny = &a.tiny
	}
	return res
}

// release frees the working memory outside of the Go heap.
func (a *attributor) release() {
	a.level.words.Release()
	a.next.words.Release()
	a.gather.release()
}

// root claims the objects that a root refers to itself, and queues them.
//
//go:norace
func (a *attributor) root(r *root.Entry) {
	if len(r.Edges) == 0 {
		return
	}
	node := &Node{Name: r.Name, Type: r.Type, Root: &r.Root, Goroutines: r.Goroutines, Pending: r.Pending}
	a.nodes = append(a.nodes, node)
	if a.watch != nil {
		a.watch.Roots = append(a.watch.Roots, RootNode{r, node})
	}
	// The references are in the order of their labels.
	w := a.gather.begin(node)
	labels := a.labels[:0]
	for i := range r.Edges {
		re := &r.Edges[i]
		if a.repeats(r, re) {
			continue
		}
		if label := r.Label(re); len(labels) == 0 || label != labels[len(labels)-1] {
			labels = append(labels, label)
		}
		e := re.Reference(a.heap.Types)
		e.Ref = uint32(len(labels) - 1)
		if e.Layout == heaptype.LayoutInternal {
			// the tables of a map whose header is on a stack are the root's own
			e.Ref = heaptype.RefInternal
		}
		w.w.Emit(e)
	}
	a.labels = labels
	a.claimRootTargets(node, labels)
}

// claimRootTargets claims the targets that were gathered for a root; their references are numbered
// by label.
func (a *attributor) claimRootTargets(node *Node, labels []string) {
	w := a.gather.workers[0]
	w.batch.Flush()
	w.seal()
	a.partials.see(a.gather.workers)
	a.claim(node, w.parts, labels)
	node.links = nil // their numbers are those of labels, not of references of objects
}

// postponed claims the objects that earlier phases postponed to this phase.
func (a *attributor) postponed() {
	objs := a.deferred[a.phase]
	if len(objs) == 0 {
		return
	}
	node := a.runtimeRoot(symbol.OfScheduler)
	w := a.gather.begin(node)
	for _, obj := range objs {
		if obj < a.heap.AnonymousBase() {
			w.object(0, a.heap.Model.SpanOf(obj), obj, 0, 0)
		} else {
			w.data(0, obj)
		}
	}
	a.claimRootTargets(node, []string{"?"})
	a.deferred[a.phase] = nil
}

// runtimeRoot makes a root of this phase that stands for no variable.
func (a *attributor) runtimeRoot(name string) *Node {
	node := &Node{Name: name, Root: &root.Root{Kind: root.KindOther, Name: name, Package: "runtime", Class: a.phase}}
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

// maxStretch bounds how many objects of several nodes are gathered from before these nodes claim. A
// reference is kept in vain if another node of the stretch claims its target.
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
	parts := a.gather.all(runs[:end], n)
	a.partials.see(a.gather.workers)
	for len(parts) > 0 {
		k := 1
		for k < len(parts) && parts[k].node == parts[0].node {
			k++
		}
		a.expand(parts[0].node, parts[:k])
		parts = parts[k:]
	}
	return runs[end:]
}

// expand claims the targets of a node's objects. The objects have one type, so that their
// references have a common order; references of untyped objects come last.
//
//go:norace
func (a *attributor) expand(n *Node, parts []part) {
	inline := int64(0)
	for i := range parts {
		p := &parts[i]
		n.Elems += p.used
		inline += p.inline
		for _, e := range p.entries {
			a.watch.Charge(n, Claim{Kind: KindEntries, Obj: e.obj, Objects: e.n})
		}
	}
	if inline > 0 {
		if c := a.child(n, "$mapval", typing.Typing{}, a.entryType(n)); c != nil {
			c.Objects += inline
		}
	}
	a.claim(n, parts, nil)
}

func (a *attributor) entryType(n *Node) string {
	if t := a.heap.Types.At(n.typing.Type); t != nil && t.Elem != 0 {
		return a.heap.Types.Names.Type(t.Elem).Name
	}
	return ""
}
