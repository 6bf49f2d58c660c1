package refscan

import (
	"io"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// WriteProfile writes the report as a gzipped pprof profile: the frames are the references from the
// root outwards, named as goref does ("pkg/path.Var. (T)", "field. (T)"), the values are the
// objects and bytes at each node (inuse_objects/count and inuse_space/bytes).
func (r *Report) WriteProfile(w io.Writer) error {
	b := profileBuilder{
		p: &profile.Profile{
			SampleType: []*profile.ValueType{
				{Type: "inuse_objects", Unit: "count"},
				{Type: "inuse_space", Unit: "bytes"},
			},
			DefaultSampleType: "inuse_space",
			TimeNanos:         time.Now().UnixNano(),
		},
		locations: make(map[frameKey]*profile.Location),
	}
	for _, n := range r.Roots {
		b.add(n, nil)
	}
	if err := b.p.CheckValid(); err != nil {
		return err
	}
	return b.p.Write(w)
}

type frameKey struct {
	name, file string
	line       int
}

type profileBuilder struct {
	p         *profile.Profile
	locations map[frameKey]*profile.Location
}

// add writes the samples of a subtree; stack holds the locations from the root to the node's parent.
func (b *profileBuilder) add(n *Node, stack []*profile.Location) {
	key := frameKey{name: frameName(n)}
	if n.Root != nil {
		key.file, key.line = n.Root.File, n.Root.Line
	}
	stack = append(stack[:len(stack):len(stack)], b.location(key))
	if n.Objects != 0 || n.Bytes != 0 {
		sample := &profile.Sample{Value: []int64{n.Objects, n.Bytes}}
		for i := len(stack) - 1; i >= 0; i-- { // leaf first
			sample.Location = append(sample.Location, stack[i])
		}
		b.p.Sample = append(b.p.Sample, sample)
	}
	for _, c := range n.Children {
		b.add(c, stack)
	}
}

func frameName(n *Node) string {
	if n.Type == "" {
		return n.Name
	}
	// pprof drops what follows the last slash-free dot of a name as a Go package; the blank and the
	// parentheses keep it from shortening the type.
	return n.Name + ". (" + strings.TrimPrefix(n.Type, " ") + ")"
}

func (b *profileBuilder) location(key frameKey) *profile.Location {
	if l := b.locations[key]; l != nil {
		return l
	}
	f := &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: key.name, SystemName: key.name, Filename: key.file, StartLine: int64(key.line)}
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1), Line: []profile.Line{{Function: f, Line: int64(key.line)}}}
	b.p.Function = append(b.p.Function, f)
	b.p.Location = append(b.p.Location, l)
	b.locations[key] = l
	return l
}
