package stackprof

import (
	"io"
	"time"

	"github.com/leakgate/leakgate/internal/pprofwire"
	"github.com/leakgate/leakgate/refscan"
)

// Sample types of the profile.
const (
	InUse      = "stack_inuse" // bytes
	Total      = "stack_total" // bytes
	Goroutines = "goroutines"  // count
)

// Names in the profile that are no functions. The package comment explains them.
const (
	FreeStack        = "runtime._FreeStack"
	StackBase        = "runtime._StackBase"
	SystemGoroutines = "runtime._SystemGoroutines"
	ThreadStacks     = "runtime._ThreadStacks"
	IdleStacks       = "runtime._IdleStacks"
	UnknownFrames    = "runtime._UnknownFrames"
	Unattributed     = "runtime._Unattributed"
)

// A Profile says where stack memory was at one moment. It is safe for concurrent use as long as
// Stacks does not change.
type Profile struct {
	// Stacks is what the profile is made of: every goroutine with its frames, and all other stack
	// memory.
	Stacks *refscan.Stacks
	// Time is when the profile was made.
	Time time.Time
}

// Take freezes this process for a moment and profiles its stacks as they are, without a garbage
// collection. It may be called from several goroutines at once; they take turns. Options that are
// about settling and collecting have no effect. Errors are of type *refscan.UnavailableError.
func Take(opts ...refscan.CaptureOption) (*Profile, error) {
	s, err := refscan.CaptureStacks(opts...)
	if err != nil {
		return nil, err
	}
	return New(s), nil
}

// New makes a profile of stacks that were read already: by refscan.CaptureStacks, or by Stacks of a
// snapshot. In a snapshot, stacks are as the garbage collection before it left them: shrunk where
// they could be.
func New(s *refscan.Stacks) *Profile { return &Profile{Stacks: s, Time: time.Now()} }

// WriteTo writes the profile for go tool pprof: a gzipped protocol buffer. It returns the number of
// bytes written.
func (p *Profile) WriteTo(w io.Writer) (int64, error) {
	c := &countingWriter{w: w}
	err := p.encode().Write(c)
	return c.n, err
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func (p *Profile) encode() *pprofwire.Profile {
	out := pprofwire.New(p.Time.UnixNano(), []pprofwire.ValueType{
		{Type: InUse, Unit: "bytes"}, {Type: Total, Unit: "bytes"}, {Type: Goroutines, Unit: "count"},
	}, Total)
	for _, w := range p.Stacks.Warnings {
		out.Comment(w)
	}
	ids := make(map[*place]uint64)
	newTree(p.Stacks).samples(func(n *node, labels []refscan.StackLabel) {
		var path []uint64
		for at := n; at.loc != nil; at = at.parent {
			id, ok := ids[at.loc]
			if !ok {
				lines := make([]pprofwire.Line, len(at.loc.calls))
				for i, c := range at.loc.calls {
					lines[i] = pprofwire.Line{Func: c.Func, File: c.File, Line: int64(c.Line), StartLine: int64(c.StartLine)}
				}
				id = out.Inlined(lines...)
				ids[at.loc] = id
			}
			path = append(path, id)
		}
		named := make([]pprofwire.Label, len(labels))
		for i, l := range labels {
			named[i] = pprofwire.Label(l)
		}
		out.Labelled(path, named, n.inUse, n.total, n.goroutines)
	})
	return out
}
