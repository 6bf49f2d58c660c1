package refscan

import (
	"runtime"
	"runtime/debug"

	"github.com/leakgate/leakgate/refscan/internal/heapgraph"
)

// A ScanOption changes how Scan works.
type ScanOption interface{ applyScan(*scanConfig) }

type scanConfig struct {
	allocations func(*Snapshot) *allocationSites
	// attribute takes the place of heapgraph's; the function that it returns completes the report. It
	// is a function so that only programs that ask for more link more.
	attribute func(*heapgraph.Graph, heapgraph.Charged) (*heapgraph.Result, func(*Report))
}

type scanOption func(*scanConfig)

func (f scanOption) applyScan(c *scanConfig) { f(c) }

// Scan finds out what keeps every live object of the snapshot alive. It takes time and memory in
// proportion to the number of objects, and may be called more than once.
func (s *Snapshot) Scan(opts ...ScanOption) (_ *Report, err error) {
	if err := s.opened(); err != nil {
		return nil, err
	}
	defer guard(&err)()
	graph, err := s.buildGraph()
	if err != nil {
		return nil, err
	}
	var config scanConfig
	for _, o := range opts {
		o.applyScan(&config)
	}
	build := treeBuilder{}
	var charged heapgraph.Charged
	if config.allocations != nil {
		sites := config.allocations(s)
		charged, build.finish = sites.charge, sites.finish
	}
	var res *heapgraph.Result
	complete := func(*Report) {}
	if config.attribute == nil {
		res = graph.Attribute(charged)
	} else {
		res, complete = config.attribute(graph, charged)
	}
	r := &Report{
		GoVersion: runtime.Version(),
		Pause:     s.pause,
		Warnings:  res.Warnings,
		Totals: Totals{
			LiveObjects: res.Totals.LiveObjects, LiveBytes: res.Totals.LiveBytes,
			AttributedObjects: res.Totals.AttributedObjects, AttributedBytes: res.Totals.AttributedBytes,
			TypedBytes: res.Totals.TypedBytes, MissedBytes: res.Totals.MissedBytes, ExtraBytes: res.Totals.ExtraBytes,
		},
		index: s.index, without: s.without, uncertain: res.Uncertain,
	}
	if s.index != nil {
		r.Warnings = append(r.Warnings, s.index.Warnings()...)
	}
	if s.later != nil {
		s.later.excuse(graph, &r.Totals)
	}
	for _, n := range res.Roots {
		r.Roots = append(r.Roots, build.node(n))
	}
	complete(r)
	return r, nil
}

// buildGraph types the objects of the snapshot.
func (s *Snapshot) buildGraph() (*heapgraph.Graph, error) {
	if s.graph != nil {
		return s.graph, nil
	}
	graph, err := heapgraph.Build(s.model, s.names, mainModule())
	if err != nil {
		return nil, heapError(err)
	}
	s.graph = graph
	return graph, nil
}

var rootKinds = [...]RootKind{
	heapgraph.KindGlobal: RootGlobal, heapgraph.KindFrame: RootFrame, heapgraph.KindFinalizer: RootFinalizer,
	heapgraph.KindCleanup: RootCleanup, heapgraph.KindOther: RootOther,
}

// A treeBuilder makes the report's nodes.
type treeBuilder struct {
	finish func(*heapgraph.Node, *Node) // adds what options ask for; may be nil
}

func (b treeBuilder) node(n *heapgraph.Node) *Node {
	out := &Node{
		Name: n.Name, Type: n.Type, Objects: n.Objects, Bytes: n.Bytes,
		UntypedObjects: n.UntypedObjects, UntypedBytes: n.UntypedBytes, Elems: n.Elems,
		Ended: n.Ended, EndedState: n.EndedState,
	}
	if r := n.Root; r != nil {
		out.Root = rootInfo(r)
		out.Root.Goroutines = n.Goroutines
	}
	for _, c := range n.Children {
		out.Children = append(out.Children, b.node(c))
	}
	if b.finish != nil {
		b.finish(n, out)
	}
	return out
}

func rootInfo(r *heapgraph.Root) *RootInfo {
	return &RootInfo{
		Kind: rootKinds[r.Kind], Package: r.Package, File: r.File, Line: r.Line,
		Func: r.Func, Goroutine: r.Goroutine, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt,
		Test: r.Test, Caller: r.Caller,
	}
}

// mainModule returns the path of the module under test. Packages of a main module without a path of
// their own ("command-line-arguments") need none.
func mainModule() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Path
	}
	return ""
}
