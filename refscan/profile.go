package refscan

import (
	"io"
	"time"

	"github.com/leakgate/leakgate/internal/pprofwire"
)

// WriteProfile writes the report as a gzipped pprof profile: the frames are the references from the
// root outwards, named as goref does ("pkg/path.Var. (T)", "field. (T)"), the values are the
// objects and bytes at each node (inuse_objects/count and inuse_space/bytes). Where the report has allocation
// sites, samples carry them as the label "allocated".
func (r *Report) WriteProfile(w io.Writer) error {
	p := newProfile()
	for _, n := range r.Roots {
		addSamples(p, n, nil)
	}
	return p.Write(w)
}

// WriteAllocationProfile writes the same figures the other way round: the frames are the stacks that the
// objects were allocated at, and the path that keeps them alive is the label "retained". What the memory
// profiler has not recorded is at "(allocation not recorded)". See WithAllocationSites.
func (r *Report) WriteAllocationProfile(w io.Writer) error {
	p := newProfile()
	for _, n := range r.Fold().Roots {
		addAllocations(p, n, n.Name)
	}
	return p.Write(w)
}

func newProfile() *pprofwire.Profile {
	return pprofwire.New(time.Now().UnixNano(), []pprofwire.ValueType{
		{Type: "inuse_objects", Unit: "count"},
		{Type: "inuse_space", Unit: "bytes"},
	}, "inuse_space")
}

// addSamples writes the samples of a subtree; above holds the locations from the node's parent to the
// root.
func addSamples(p *pprofwire.Profile, n *Node, above []uint64) {
	file, line := "", 0
	if n.Root != nil {
		file, line = n.Root.File, n.Root.Line
	}
	stack := append([]uint64{p.Location(frameName(n), file, int64(line))}, above...)
	objects, bytes := n.Objects, n.Bytes
	for _, a := range n.Allocations {
		p.Labelled(stack, []pprofwire.Label{{Key: "allocated", Value: a.place()}}, a.Objects, a.Bytes)
		objects, bytes = objects-a.Objects, bytes-a.Bytes
	}
	if objects != 0 || bytes != 0 {
		p.Sample(stack, objects, bytes)
	}
	for _, c := range n.Children {
		addSamples(p, c, stack)
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
		addAllocations(p, c, JoinPath(path, c.Name))
	}
}

// place is the stack in a line: "app.New < app.Login < app.TestLogin".
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

func frameName(n *Node) string {
	if n.Type == "" {
		return n.Name
	}
	return n.Name + ". (" + n.Type + ")"
}
