package wording_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// The end of a message says how often op was called.
func TestProtocol(t *testing.T) {
	w := heap(sessions)
	end := func() string {
		_, text, _ := strings.Cut(strings.Join(w.Failure(w.Growth(), 160), "\n"), "\n\nop was called ")
		text, _, _ = strings.Cut(text, "\n")
		return text
	}
	assert.Equal(t, "160 times: 10 to warm up, then 10, 20, 40 and 80, with a snapshot after each batch", end())
	w.Each = 1000
	assert.Equal(t, "160 times: 0 to warm up, then 10, 20, 40 and 80, with a snapshot after each batch; each time counts as 1,000 calls", end())
	w.Each = 1
	w.History = w.WithLater(&finding.Snapshot{Calls: 240, Forest: tree.GrowForest(report(sessions(240))), Eval: w.Last().Eval, Goroutines: w.Last().Goroutines})
	assert.Contains(t, end(), "; the last of them after 12s without a call")
	w.Process = "example (7)"
	text := strings.Join(w.Failure(w.Growth(), 160), "\n")
	assert.Contains(t, text, "leakcheck: memory of example (7) grows with every call of op")
	assert.Contains(t, text, "\nwhat others make example (7) do meanwhile counts, too")
	assert.Contains(t, text, "\nwhere this is allocated, its memory profiler has not sampled")
}

// recorded gives the node of a session the stacks that allocated it.
func recorded(n int64) *refscan.Node {
	root := sessions(n)
	stack := []refscan.SourceFrame{{Func: "example.com/app.New", File: "/src/app/new.go", Line: 7}, {Func: "net/http.serve", File: "/go/net.go", Line: 1}}
	root.Children[0].Allocations = []refscan.Allocation{{Objects: n, Bytes: 96 * n, Stack: stack}}
	root.Allocations = []refscan.Allocation{{Objects: 1, Bytes: 64 * n, Stack: []refscan.SourceFrame{{Func: "example.com/app.add", File: "/src/app/add.go", Line: 9}}}}
	return root
}

// Messages name the stacks that allocated most of the growth of the last batch.
func TestAllocatedAt(t *testing.T) {
	w := heap(recorded)
	assert.NotContains(t, failure(w), "allocated at")
	w.Recorded, w.RecordedCalls, w.RecordedAll = w.Snapshots[3], 80, true
	assert.Contains(t, failure(w), "\n    allocated at:\n       example.com/app.New (new.go:7)\n       net/http.serve (")
	assert.Contains(t, failure(w), "\n    made by example.com/app.New (new.go:7)\n")
	assert.Equal(t, int64(80), w.RecordedShare(80))
	w.RecordedCalls = 7
	assert.Equal(t, int64(7), w.RecordedShare(80))
	assert.Equal(t, int64(1), w.RecordedShare(1), "at least a part of one")

	w = heap(sessions)
	w.Recorded, w.RecordedCalls = w.Snapshots[3], 7
	assert.Contains(t, failure(w), "\n    where it is allocated is not known: op is slow while its allocations are recorded, so that 7 of the last 80 calls were\n")
	assert.Contains(t, failure(w), "\n    where []uint8 is allocated is not known: ")

	w = heap(recorded)
	w.Process = "example (7)"
	assert.Contains(t, failure(w), "\n    allocated at, by the samples of its memory profiler:\n       example.com/app.New (new.go:7)\n")
}

// records are those of all leaks.
func records(w *wording.Wording) []verdict.Bound {
	return w.Records(w.Growth(), &assertion.Assertion{Env: w.Env})
}

// The record of a verdict has what grows, and who holds and makes it.
func TestRecords(t *testing.T) {
	w := heap(recorded)
	w.Recorded, w.RecordedCalls, w.RecordedAll = w.Snapshots[3], 80, true
	b := records(w)[0]
	assert.Equal(t, verdict.Growth, b.Kind)
	assert.Equal(t, "AssertNoGrowth: example.com/app.sessions[*]", b.Selector)
	assert.Equal(t, "example.com/app.sessions[*]", b.Path)
	assert.Equal(t, "*example.com/app.Session", b.Type)
	assert.Equal(t, int64(150), b.Objects)
	assert.Equal(t, "+1.00 *app.Session/op (+424 B/op)", b.Growth)
	assert.Equal(t, 1.0, b.PerCall)
	assert.Equal(t, "registry.go", b.File)
	assert.Equal(t, []string{"held by the package variable example.com/app.sessions (registry.go:12)"}, b.HeldBy)
	assert.Len(t, b.Chain, 3)
	h := b.Holder
	assert.Equal(t, "example.com/app.sessions", h.Root)
	assert.Equal(t, []string{"example.com/app.Session"}, h.Types)
	assert.Equal(t, []string{"example.com/app"}, h.Packages)
	assert.Equal(t, []verdict.Call{{Function: "example.com/app.New", At: "/src/app/new.go:7"}}, h.Made)
	assert.Equal(t, []verdict.Call{{Function: "example.com/app.add", At: "/src/app/add.go:9"}}, h.Filled)
	assert.Equal(t, "map[string]*example.com/app.Session", h.Container)
	assert.Nil(t, b.MaxBytes)

	b = records(heap(func(n int64) *refscan.Node { return global(node("example.com/app.v", "[]int", 1, 8*n), "", 0) }))[0]
	assert.Equal(t, int64(0), *b.MaxBytes)
	assert.Equal(t, int64(1200), b.Bytes)
	assert.Equal(t, int64(0), b.Objects)

	socket := func(n int64) []ledger.Item { return []ledger.Item{item(ledger.Descriptor, "socket", n)} }
	w = held(socket)
	w.Makers = map[string][]wording.Maker{"descriptor": {{Call: goroutine.Call{Function: "example.com/app.Dial", At: "/src/app/dial.go:4"}, Stack: []goroutine.Call{{Function: "net.Dial"}, {Function: "example.com/app.Dial", At: "/src/app/dial.go:4"}}}}}
	b = records(w)[0]
	assert.Equal(t, verdict.Resources, b.Kind)
	assert.Equal(t, "socket", b.Path)
	assert.Equal(t, "descriptor", b.Type)
	assert.Equal(t, []verdict.Resource{{Kind: "descriptor", Name: "socket", Growth: "+1.00 fd/op: socket", Added: 150}}, b.Resources)
	assert.Equal(t, "resource", b.Holder.Kind)
	assert.Equal(t, "example.com/app.Dial", b.Holder.CreatedBy)
	assert.Equal(t, []verdict.Call{{Function: "example.com/app.Dial", At: "/src/app/dial.go:4"}}, b.Holder.Made)

	w = piled(func(n int64) []*refscan.Node {
		return []*refscan.Node{frame(node("example.com/app.work.p", "*example.com/app.pool", n, 64*n), refscan.RootInfo{Func: worker.Entry, CreatedAt: worker.CreatedAt})}
	}, socket)
	for _, m := range w.Snapshots {
		g := m.Goroutines[worker]
		g.Ancestors = []goroutine.Call{{Function: "example.com/app.New"}, {Function: "example.com/app.Open", At: "/src/app/open.go:2"}}
		m.Goroutines[worker] = g
	}
	b = records(w)[0]
	assert.Equal(t, "example.com/app.work", b.Path)
	assert.Equal(t, "goroutine", b.Type)
	assert.Equal(t, "+1.00 goroutine/op (+64 B/op beside the stack), with +1.00 fd/op: socket", b.Growth)
	h = b.Holder
	assert.Equal(t, "goroutine", h.Kind)
	assert.Equal(t, "example.com/app.New", h.CreatedBy)
	assert.Equal(t, "select", h.State)
	assert.Equal(t, "/src/app/work.go:7", h.At)
	assert.Equal(t, []string{"*example.com/app.pool"}, h.Holds)
	assert.Equal(t, []verdict.Call{{Function: "example.com/app.work", At: "/src/app/work.go:7"}}, h.Runs)
	assert.Equal(t, []verdict.Call{{Function: "example.com/app.New", At: worker.CreatedAt}, {Function: "example.com/app.Open", At: "/src/app/open.go:2", Calls: "example.com/app.New"}}, h.Made)
}

// The log of a pass names what had grown for a time.
func TestForgiven(t *testing.T) {
	suspects := func(w *wording.Wording) []string { return w.Forgiven(w.Growth().Leaks) }
	w := heap(sessions)
	leaks := w.Growth().Leaks
	assert.Equal(t, []string{"grew, but not with every batch, or less and less, and is no leak: via example.com/app.sessions[*]: objects: 10 → 20 → 40 → 80 → 160 after 10, 20, 40, 80 and 160 calls"},
		w.Forgiven(append(leaks, leaks...)), "once")
	more := w
	more.History = w.WithLater(&finding.Snapshot{Calls: 240, Forest: tree.GrowForest(report(sessions(80)))})
	assert.Equal(t, []string{"grew, but is kept for some time only, and is no leak: via example.com/app.sessions[*]: objects: 10 → 20 → 40 → 80 → 160 after 10, 20, 40, 80 and 160 calls, and 80 12s later, after 240 calls"}, more.Forgiven(leaks))
	w = heap(sessions)
	for _, n := range []int64{240, 312, 390} {
		w.History = w.WithFurther(&finding.Snapshot{Calls: n, Forest: tree.GrowForest(report(sessions(160)))})
	}
	assert.Equal(t, []string{"grew, but with the size of the largest batch of calls, not with their number, and is no leak: via example.com/app.sessions[*]: objects: 10 → 20 → 40 → 80 → 160 after 10, 20, 40, 80 and 160 calls, and 160 → 160 → 160 after 240, 312 and 390"}, w.Forgiven(leaks))
	w.Further[2].Forest, w.Further[2] = tree.GrowForest(report(sessions(9))), &finding.Snapshot{Calls: 390, Forest: tree.GrowForest(report(sessions(9)))}
	assert.Contains(t, w.Forgiven(leaks)[0], "grew, but fell in a further batch, and is no leak: ")

	assert.Contains(t, suspects(held(func(n int64) []ledger.Item { return []ledger.Item{item(ledger.Descriptor, "socket", n)} }))[0],
		"grew, but not with every batch, or less and less (full, or at a limit that is not known here): socket: descriptors: 10 → ")
	assert.Empty(t, suspects(held(func(n int64) []ledger.Item { return []ledger.Item{item(ledger.Mapping, "a file", 8192*n)} })), "it comes and goes")
	assert.Contains(t, suspects(native())[0], "less and less, and is no leak: native blocks: native blocks: 10 → ")
	assert.Contains(t, suspects(piled(nil, nil))[0], "is no leak: in example.com/app.work: goroutines: 10 → ")

	many := over(usual, func(n int64) *finding.Snapshot {
		var roots []*refscan.Node
		for i := range 9 {
			roots = append(roots, global(node("example.com/app.v"+string(rune('a'+i)), "*example.com/app.T", n, 8*n), "", 0))
		}
		return snapshot(roots...)
	})
	notes := suspects(many)
	assert.Len(t, notes, 6)
	assert.Equal(t, "… and others like these", notes[5])
}

// What was not judged says why, and how to tell.
func TestUnjudged(t *testing.T) {
	used := series.Series{Calls: usual, Values: []int64{80, 160, 320, 640, 1280}}
	l := &finding.Longer{Path: "example.com/app.journal", Used: used, Bytes: 4096, Exact: true}
	assert.Equal(t, "could not tell, and did not judge: +8.0 B/op via example.com/app.journal, in arrays that had room for them (1.2 KiB of 4.0 KiB in use); a first batch that fills them would tell: Iterations(513)", wording.UnjudgedSlice(l))
	l.Queue = true
	assert.Equal(t, "could not tell, and did not judge: elements sent to a channel and not received: +8.0 B/op via example.com/app.journal, in arrays that had room for them (1.2 KiB of 4.0 KiB in use); let op wait until they are received", wording.UnjudgedSlice(l))
	assert.Equal(t, "could not tell, and did not judge: elements sent to a channel and not received: +2/op, and its buffer has room for 5,000 more; Full() names the channel", wording.UnjudgedQueue(2, 5000))
	assert.Contains(t, wording.UnwatchedSlices(3<<30), "objects with pointers have 3.0 GiB, too much")
	r := &finding.Resource{Kind: ledger.Mapping, Name: ledger.Anonymous, Own: used}
	assert.Equal(t, "could not tell, and did not judge: +8.0 B/op: anonymous memory, which is mapped by op or by the sanitizer (run it without -race, -asan and -msan): bytes mapped: 80 → 160 → 320 → 640 → 1,280 after 10, 20, 40, 80 and 160 calls", wording.Unjudged(r))

	w := held(func(n int64) []ledger.Item { return []ledger.Item{item(ledger.Descriptor, "socket to 10.0.0.1:5", n)} })
	for _, text := range []string{"socket to 10.0.0.1:*", "app.none"} {
		p, err := naming.CompilePathPattern(text)
		assert.NoError(t, err)
		w.Req.Ignores = append(w.Req.Ignores, tree.Ignoring{Pattern: p, Reason: "why"})
	}
	notes := []string{check.UselessIgnore("socket to 10.0.0.1:*"), check.UselessIgnore("app.none"), "another"}
	assert.Equal(t, notes[1:], w.WithoutUseful(append([]string(nil), notes...)))
}

// Timers and sleeping goroutines may be gone after a wait, unless a cause is known.
func TestMayExpire(t *testing.T) {
	may := func(w *wording.Wording) bool { return w.MayExpire(w.Growth()) }
	timer := func(function string, due, period time.Duration) *wording.Wording {
		return heap(func(n int64) *refscan.Node {
			root := node("timer("+function+")", "", 0, 0, node("$timer", "*time.Timer", n, 112*n))
			pkg, _, _ := strings.Cut(function, ".expire")
			root.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: pkg, Timers: n, DueLast: due, Period: period}
			return root
		})
	}
	assert.True(t, may(timer("example.com/app.expire", wording.Wait, 0)))
	assert.False(t, may(timer("example.com/app.expire", wording.Wait+1, 0)))
	assert.False(t, may(timer("example.com/app.expire", time.Second, time.Second)))
	assert.False(t, may(timer("context.expire", time.Second, 0)))
	asleep := func(d time.Duration) *wording.Wording {
		w := piled(nil, nil)
		for _, m := range w.Snapshots {
			g := m.Goroutines[worker]
			g.Sleep = d
			m.Goroutines[worker] = g
		}
		return w
	}
	assert.True(t, may(asleep(wording.Wait)))
	assert.False(t, may(asleep(wording.Wait+1)))
	assert.False(t, may(asleep(0)))
	assert.False(t, may(heap(sessions)))
}

// Times are looked for in what grows, in what it refers to, and in maps above.
func TestContentOf(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	w := heap(sessions)
	q := wording.ContentOf(w.Growth(), began)
	assert.Equal(t, began.Add(-time.Minute), q.Since)
	var places []string
	for _, at := range q.Times {
		assert.Equal(t, "example.com/app.sessions[*]", at.Of)
		places = append(places, at.Place)
	}
	assert.Equal(t, []string{"example.com/app.sessions[*]", "example.com/app.sessions", "example.com/app.sessions[*].buf", "example.com/app.sessions[*].id"}, places)
	assert.False(t, q.Arrays)
	arrays := heap(func(n int64) *refscan.Node { return global(node("example.com/app.v", "[]int", 1, 8*n), "", 0) })
	assert.True(t, wording.ContentOf(arrays.Growth(), began).Arrays)
	assert.Nil(t, wording.ContentOf(piled(nil, nil).Growth(), began).OrNil(), "goroutines are none")
	assert.Equal(t, []observe.Place{{Path: "example.com/app.sessions[*]", Typ: "*example.com/app.Session"}}, wording.Places(w.Growth()))
	assert.Empty(t, wording.Places(piled(nil, nil).Growth()))
	w.Content = q
	assert.False(t, w.MayExpire(w.Growth()), "no time was found")
}
