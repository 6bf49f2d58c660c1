package service

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// No collection is forced in a process that a test drives. So its snapshots have what two
// collections would have taken away in a test, which does not count: the contents of pools, and
// objects that only wait for their finalizers and cleanups, with the descriptors of files and
// sockets among them.

// frozen is a snapshot of the process.
type frozen struct {
	observe.Process
	of *Process
}

// Scan scans the snapshot, and leaves out what the next collections would take away.
func (f *frozen) Scan(opts ...refscan.ScanOption) (*refscan.Report, error) {
	r, err := f.Process.Scan(opts...)
	if err != nil {
		return nil, err
	}
	var left leftOut
	q := &observe.ContentQuery{}
	r.Roots = slices.DeleteFunc(r.Roots, func(n *refscan.Node) bool {
		if n.Root != nil && (n.Root.Kind == refscan.RootFinalizer || n.Root.Kind == refscan.RootCleanup) {
			left.waiting.add(n)
			askHandles(q, n, n.Name)
			return true
		}
		left.cutPools(n)
		return false
	})
	if f.of.left[1] = left; f.of.left[0] == (leftOut{}) {
		f.of.left[0] = left
	}
	f.of.closing = nil
	if q.OrNil() != nil && f.ReadContent(q) == nil {
		f.of.closing = make(map[int]bool)
		for _, h := range q.Handles {
			for _, number := range h.Numbers {
				f.of.closing[number] = true
			}
		}
	}
	return r, nil
}

// askHandles asks for the descriptors that the objects at a node and below have.
func askHandles(q *observe.ContentQuery, n *refscan.Node, path string) {
	if offsets := tree.Descriptors(n.Type); n.Objects > 0 && offsets != nil {
		q.AddHandles(symbol.Unescape(path), "", offsets)
	}
	for _, c := range n.Children {
		askHandles(q, c, symbol.JoinPath(path, c.Name))
	}
}

// leftOut is what a snapshot leaves out.
type leftOut struct{ pools, waiting tally }

// A tally is a number of objects and their bytes.
type tally struct{ objects, bytes int64 }

func (t *tally) add(n *refscan.Node) {
	objects, bytes := n.Total()
	t.objects += objects
	t.bytes += bytes
}

// poolLocal is the type of what a sync.Pool has for the processors, and of what it keeps of that
// for one more collection (go1.26 and go1.27 sync/pool.go, Pool.local and Pool.victim).
const poolLocal = "[]sync.poolLocal"

// cutPools cuts the contents of pools off a node.
func (l *leftOut) cutPools(n *refscan.Node) {
	n.Children = slices.DeleteFunc(n.Children, func(c *refscan.Node) bool {
		if c.Type == poolLocal {
			l.pools.add(c)
			return true
		}
		l.cutPools(c)
		return false
	})
}

// minLeftOut is from how many bytes more on than at first the log says what was left out.
const minLeftOut = 64 << 10

// Notes says what the last snapshot left out that the first one did not have.
func (p *Process) Notes() (notes []string) {
	var parts []string
	first, last := p.left[0], p.left[1]
	for _, part := range []struct {
		was, is tally
		where   string
	}{
		{first.pools, last.pools, "in a sync.Pool"},
		{first.waiting, last.waiting, "that wait for a finalizer or cleanup"},
	} {
		if part.is.bytes-part.was.bytes >= minLeftOut {
			parts = append(parts, fmt.Sprintf("%s (%s) %s", textfmt.CountNoun(part.is.objects, "object"), textfmt.ByteCount(part.is.bytes), part.where))
		}
	}
	if parts == nil {
		return nil
	}
	return []string{p.String() + " was not made to collect garbage; what its next collections free does not count: " + strings.Join(parts, ", and ")}
}
