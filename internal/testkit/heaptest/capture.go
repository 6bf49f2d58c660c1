package heaptest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/retain"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/testkit/judge"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Long keeps a test out of short runs, which are those with the race detector. It makes scans ten
// times as slow, and other tests run scans in several goroutines under it.
func Long(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("takes minutes with the race detector")
	}
}

// Seed returns a seed of random graphs, which LEAKGATE_SEED may name.
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("LEAKGATE_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(tb, err)
	}
	tb.Logf("LEAKGATE_SEED=%d makes these graphs again", seed)
	return seed
}

// A Process is this process, frozen, with its heap.
type Process struct {
	*snapshot.Snapshot
	Heap *typedheap.Heap
}

// Freeze freezes this process until Close, or the end of the test. With settle it waits first, as a
// scan does.
func Freeze(tb testing.TB, settle bool) *snapshot.Snapshot {
	tb.Helper()
	c := snapshot.Default()
	c.Logf, c.Settle = tb.Logf, settle
	s, err := snapshot.Capture(c)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// Capture freezes this process, and types its heap.
func Capture(tb testing.TB) *Process {
	tb.Helper()
	s := Freeze(tb, true)
	h, err := s.Heap()
	require.NoError(tb, err)
	return &Process{s, h}
}

// LooksAtDeadline requires that a loop over the heap looks at the deadline now and then.
func (p *Process) LooksAtDeadline(tb testing.TB, loop func()) {
	tb.Helper()
	looks := 0
	m := p.Model()
	before := m.Watch
	m.Watch = func() error { looks++; return nil }
	loop()
	m.Watch = before
	require.Greater(tb, looks, 0, "looks at the deadline")
}

// TypeOf returns the type of a reference to an object, "" if it is not known.
func (p *Process) TypeOf(obj uint32) string {
	if of := p.Heap.Typings.Of(obj); of.Type != 0 {
		return typing.RefName(p.Heap.Types, of)
	}
	return ""
}

// A Trial is this process, frozen, with the results of the engine and of the judge.
type Trial struct {
	*Process
	Result    *attribute.Result
	Retention *retain.Result
	Judge     *judge.Graph
}

// Judged freezes this process until the end of the test.
func Judged(tb testing.TB) *Trial {
	tb.Helper()
	t := &Trial{Process: Capture(tb)}
	t.Result, t.Retention = retain.Run(t.Heap, t.Program(), nil)
	tb.Cleanup(t.Retention.Release)
	_, greenTea := t.Index().TypeByName("runtime.spanInlineMarkBits")
	inMaking, ok := t.Index().GlobalByName("runtime.inProgress")
	require.True(tb, ok)
	var err error
	t.Judge, err = judge.NewHeap(t.Model().Mem, t.Model(), greenTea, inMaking.Addr+t.Model().Bias()).Reachable()
	require.NoError(tb, err)
	return t
}

// SameReach compares the sets of reachable objects, object by object. There are more than least.
func (t *Trial) SameReach(tb testing.TB, least int) {
	tb.Helper()
	alive := make(map[uint32]bool)
	for _, o := range t.Judge.Objects {
		alive[o.Number] = true
	}
	require.Greater(tb, len(alive), least)
	for i := range t.Model().Spans {
		s := &t.Model().Spans[i]
		for k := range s.NElems {
			obj := s.FirstObj + k
			if alive[obj] == t.Heap.Live.Marked.Has(obj) {
				continue // the loop is too long for an assertion each time
			}
			require.Equal(tb, alive[obj], t.Heap.Live.Marked.Has(obj), "the judge and the engine on the object of %d bytes at %#x", s.ElemSize, s.Addr(obj))
		}
	}
}

// WordsOf returns a function that reports whether a root word belongs to a package variable.
func (t *Trial) WordsOf(tb testing.TB, variable string) func(judge.RootWord) bool {
	tb.Helper()
	v, ok := t.Index().GlobalByName(variable)
	require.True(tb, ok, variable)
	lo := v.Addr + t.Model().Bias()
	return func(r judge.RootWord) bool { return lo <= r.Addr && r.Addr < lo+uint64(v.Size) }
}
