package refscan

import (
	"io"
	"time"

	"github.com/leakgate/leakgate/internal/pprofwire"
	"github.com/leakgate/leakgate/internal/symbol"
)

// WriteProfile writes the report as a gzipped pprof profile: the frames are the nodes from the root
// outwards, each named by its whole path, with elements folded as Fold does
// ("pkg/path.Var[*].field"), the values are the objects and bytes at each node (inuse_objects/count
// and inuse_space/bytes). Samples carry the type of their reference as the label "type" and, where
// the report has allocation sites, those as the label "allocated".
//
// If the report is of a scan with WithRetained, there are two more values: of the node's objects
// and bytes, those that only the path's root keeps alive (retained_objects/count and
// retained_space/bytes). They add up along a path, unlike the retained sizes of nested nodes.
func (r *Report) WriteProfile(w io.Writer) error {
	var more []pprofwire.ValueType
	if r.Retained {
		more = []pprofwire.ValueType{{Type: "retained_objects", Unit: "count"}, {Type: "retained_space", Unit: "bytes"}}
	}
	p := newProfile(more)
	for _, n := range r.Roots {
		r.addSamples(p, n, nil, nil)
	}
	return p.Write(w)
}

// WriteAllocationProfile writes the same figures the other way round: the frames are the stacks
// that allocated the objects, and the path that keeps the objects alive is the label "retained".
// Objects that the memory profiler has not recorded are at "(allocation not recorded)". See
// WithAllocationSites.
func (r *Report) WriteAllocationProfile(w io.Writer) error {
	p := newProfile(nil)
	for _, n := range r.Fold().Roots {
		addAllocations(p, n, n.Name)
	}
	return p.Write(w)
}

func newProfile(more []pprofwire.ValueType) *pprofwire.Profile {
	return pprofwire.New(time.Now().UnixNano(), append([]pprofwire.ValueType{
		{Type: "inuse_objects", Unit: "count"},
		{Type: "inuse_space", Unit: "bytes"},
	}, more...), "inuse_space")
}

// addSamples writes the samples of a subtree; above holds the locations from the node's parent to
// the root, path the names from the root to the parent.
func (r *Report) addSamples(p *pprofwire.Profile, n *Node, above []uint64, path framePath) {
	file, line := "", 0
	if n.Root != nil {
		file, line = n.Root.File, n.Root.Line
	}
	path = append(path, symbol.FoldPath(n.Name))
	stack := append([]uint64{p.Location(path.frameName(), file, int64(line))}, above...)
	var labels []pprofwire.Label
	if n.Type != "" {
		labels = []pprofwire.Label{{Key: "type", Value: n.Type}}
	}
	objects, bytes := n.Objects, n.Bytes
	var more []int64
	if r.Retained {
		more = []int64{n.RootObjects, n.RootBytes}
	}
	for _, a := range n.Allocations {
		values := append([]int64{a.Objects, a.Bytes}, make([]int64, len(more))...)
		p.Labelled(stack, append(labels[:len(labels):len(labels)], pprofwire.Label{Key: "allocated", Value: a.place()}), values...)
		objects, bytes = objects-a.Objects, bytes-a.Bytes
	}
	if objects|bytes != 0 || len(more) > 0 && n.Objects|n.Bytes != 0 {
		p.Labelled(stack, labels, append([]int64{objects, bytes}, more...)...)
	}
	for _, c := range n.Children {
		r.addSamples(p, c, stack, path)
	}
}

func addAllocations(p *pprofwire.Profile, n *Node, path string) {
	labels := []pprofwire.Label{{Key: "retained", Value: path}}
	objects, bytes := n.Objects, n.Bytes
	for _, a := range n.Allocations {
		stack := make([]uint64, len(a.Stack))
		for i, f := range a.Stack {
			stack[i] = p.Location(f.Func, f.File, int64(f.Line))
		}
		p.Labelled(stack, labels, a.Objects, a.Bytes)
		objects, bytes = objects-a.Objects, bytes-a.Bytes
	}
	if objects != 0 || bytes != 0 {
		p.Labelled([]uint64{p.Location("(allocation not recorded)", "", 0)}, labels, objects, bytes)
	}
	for _, c := range n.Children {
		addAllocations(p, c, symbol.JoinPath(path, c.Name))
	}
}

// place writes the stack on one line: "app.New < app.Login < app.TestLogin".
func (a Allocation) place() string {
	s := ""
	for i, f := range a.Stack {
		if i > 0 {
			s += " < "
		}
		s += f.Func
	}
	return s
}
