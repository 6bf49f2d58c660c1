package refscan

import (
	"runtime"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
)

// A ScanOption changes how Scan works.
type ScanOption interface{ applyScan(*scanConfig) }

type scanConfig struct {
	// allocations returns two functions: the first gets each object that a node is charged with,
	// the second completes the node then. nil: the report has no allocation sites.
	allocations func(*Snapshot) (attribute.Charged, func(*attribute.Node, *Node))
	// attribute replaces attribute.Run. The functions that it returns complete the report, and
	// release memory. It is a function value so that only programs that use an option link its
	// code.
	attribute func(*typedheap.Heap, root.Program, attribute.Charged) (res *attribute.Result, complete func(*Report), release func())
	queries   snapshot.Queries // what attribute takes memory for
}

type scanOption func(*scanConfig)

func (f scanOption) applyScan(c *scanConfig) { f(c) }

// Scan finds what keeps every live object of the snapshot alive. It takes time and memory in
// proportion to the number of objects, and may be called more than once.
func (s *Snapshot) Scan(opts ...ScanOption) (_ *Report, err error) {
	defer public(&err)
	defer snapshot.Guard(&err)()
	graph, err := s.in().Heap()
	if err != nil {
		return nil, err
	}
	var config scanConfig
	for _, o := range opts {
		o.applyScan(&config)
	}
	if err := s.in().Ask(config.queries); err != nil {
		return nil, err
	}
	build := treeBuilder{}
	var charged attribute.Charged
	if config.allocations != nil {
		charged, build.finish = config.allocations(s)
	}
	var res *attribute.Result
	complete := func(*Report) {}
	if config.attribute == nil {
		res = attribute.Run(graph, s.in().Program(), attribute.Options{Charged: charged})
	} else {
		var release func()
		res, complete, release = config.attribute(graph, s.in().Program(), charged)
		defer release()
	}
	if err := s.in().Model().Mem.Broken(); err != nil {
		return nil, snapshot.HeapError(err)
	}
	r := &Report{
		GoVersion: runtime.Version(), Collections: s.in().Collections(), Undecided: s.in().Undecided(),
		Pause: s.Pause(), NotForked: s.in().NotForked(),
		Warnings: append(res.Warnings, s.in().Index().Warnings()...),
		Totals:   Totals(res.Totals),
		index:    s.in().Index(),
	}
	var missed []*Node
	if r.Totals.MissedObjects > 0 {
		var dead tally
		missed, dead = missedTypes(graph, s.in().FoundDead)
		r.Totals.subtractDead(dead)
	}
	s.describeStop(r, graph, res)
	if r.Totals.MissedObjects > 0 {
		r.Missed = missed
	}
	if r.Totals.MissedBytes > maxUnexplained {
		if err := s.in().Withheld(); err != nil {
			return nil, err
		}
	}
	for _, n := range res.Roots {
		r.Roots = append(r.Roots, build.node(n))
	}
	complete(r)
	return r, nil
}

// maxUnexplained is how many bytes may be missed before Scan checks that no mapping of the heap was
// kept from the frozen process.
const maxUnexplained = 32 << 10

var rootKinds = [...]RootKind{
	root.KindGlobal: RootGlobal, root.KindFrame: RootFrame, root.KindTimer: RootTimer, root.KindFinalizer: RootFinalizer,
	root.KindCleanup: RootCleanup, root.KindOther: RootOther,
}

// A treeBuilder makes the report's nodes.
type treeBuilder struct {
	finish func(*attribute.Node, *Node) // adds what options ask for; may be nil
}

func (b treeBuilder) node(n *attribute.Node) *Node {
	out := &Node{
		Name: n.Name, Type: n.Type, Figures: n.Figures, EndedState: n.EndedState, Recursion: n.Recursion,
	}
	if r := n.Root; r != nil {
		out.Root = rootInfo(r)
		out.Root.Goroutines = n.Goroutines
		out.Root.setPending(n.Pending)
	}
	for _, c := range n.Children {
		out.Children = append(out.Children, b.node(c))
	}
	if b.finish != nil {
		b.finish(n, out)
	}
	return out
}

// setPending fills in what is known of the timers of a root.
func (r *RootInfo) setPending(p root.Pending) {
	r.Timers, r.Period, r.DueFirst, r.DueLast = p.Timers, p.Period, p.DueFirst, p.DueLast
}

func rootInfo(r *root.Root) *RootInfo {
	return &RootInfo{
		Kind: rootKinds[r.Kind], Package: r.Package, File: r.File, Line: r.Line,
		Func: r.Func, Goroutine: r.Goroutine, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt,
		Test: r.Test, Caller: r.Caller,
	}
}
