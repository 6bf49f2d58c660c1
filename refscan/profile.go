package refscan

import (
	"io"
	"time"

	"github.com/leakgate/leakgate/internal/pprofwire"
)

// WriteProfile writes the report as a gzipped pprof profile: the frames are the references from the
// root outwards, named as goref does ("pkg/path.Var. (T)", "field. (T)"), the values are the
// objects and bytes at each node (inuse_objects/count and inuse_space/bytes).
func (r *Report) WriteProfile(w io.Writer) error {
	p := pprofwire.New(time.Now().UnixNano(), []pprofwire.ValueType{
		{Type: "inuse_objects", Unit: "count"},
		{Type: "inuse_space", Unit: "bytes"},
	}, "inuse_space")
	for _, n := range r.Roots {
		addSamples(p, n, nil)
	}
	return p.Write(w)
}

// addSamples writes the samples of a subtree; above holds the locations from the node's parent to the
// root.
func addSamples(p *pprofwire.Profile, n *Node, above []uint64) {
	file, line := "", 0
	if n.Root != nil {
		file, line = n.Root.File, n.Root.Line
	}
	stack := append([]uint64{p.Location(frameName(n), file, int64(line))}, above...)
	if n.Objects != 0 || n.Bytes != 0 {
		p.Sample(stack, n.Objects, n.Bytes)
	}
	for _, c := range n.Children {
		addSamples(p, c, stack)
	}
}

func frameName(n *Node) string {
	if n.Type == "" {
		return n.Name
	}
	return n.Name + ". (" + n.Type + ")"
}
