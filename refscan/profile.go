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
//
// If the report is of a scan with WithRetained, there are two more values: of the node's objects and
// bytes, those that nothing but the path's root keeps alive (retained_objects/count and
// retained_space/bytes). They add up along a path, as retained sizes of nested nodes do not.
func (r *Report) WriteProfile(w io.Writer) error {
	var more []pprofwire.ValueType
	if r.more != nil {
		more = r.more.types
	}
	p := newProfile(more)
	for _, n := range r.Roots {
		r.addSamples(p, n, nil)
	}
	return p.Write(w)
}

// WriteAllocationProfile writes the same figures the other way round: the frames are the stacks that the
// objects were allocated at, and the path that keeps them alive is the label "retained". What the memory
// profiler has not recorded is at "(allocation not recorded)". See WithAllocationSites.
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

// addSamples writes the samples of a subtree; above holds the locations from the node's parent to the
// root.
func (r *Report) addSamples(p *pprofwire.Profile, n *Node, above []uint64) {
	file, line := "", 0
	if n.Root != nil {
		file, line = n.Root.File, n.Root.Line
	}
	stack := append([]uint64{p.Location(frameName(n), file, int64(line))}, above...)
	objects, bytes := n.Objects, n.Bytes
	var more []int64
	if r.more != nil {
		more = r.more.values(n)
	}
	for _, a := range n.Allocations {
		values := append([]int64{a.Objects, a.Bytes}, make([]int64, len(more))...)
		p.Labelled(stack, []pprofwire.Label{{Key: "allocated", Value: a.place()}}, values...)
		objects, bytes = objects-a.Objects, bytes-a.Bytes
	}
	if objects|bytes != 0 || len(more) > 0 && n.Objects|n.Bytes != 0 {
		p.Sample(stack, append([]int64{objects, bytes}, more...)...)
	}
	for _, c := range n.Children {
		r.addSamples(p, c, stack)
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
