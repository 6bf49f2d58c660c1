package growth

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// What grows with the number of calls fails the test, whatever it is. What stops growing does not.
func TestGrowth(t *testing.T) {
	still := leaks(0)
	worker := goroutine.Origin{Entry: "example.com/app.work", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/app.go:7"}
	for name, c := range map[string]struct {
		report     func(int64) *refscan.Report
		goroutines func(calls int64) int64
		files      func(calls int64) int64
		options    func(*request.Request)
		snapshots  int
		calls      int64
		says       string // in the failure; "": it passes
		logs       string
	}{
		"nothing":             {still, nil, nil, nil, 2, 20, "", ""},
		"one a call":          {leaks(1), nil, nil, nil, 6, 160, "+1.00 *app.Session/op", ""},
		"two a call":          {leaks(2), nil, nil, nil, 6, 160, "+2.00 *app.Session/op", ""},
		"a cache that fills":  {func(calls int64) *refscan.Report { return leaks(1)(min(calls, 30)) }, nil, nil, nil, 4, 80, "", "is no leak: via "},
		"gone after a wait":   {nil, nil, nil, nil, 6, 160, "", "is no leak: via "},
		"goroutines":          {still, func(calls int64) int64 { return calls }, nil, nil, 6, 160, "+1.00 goroutine/op in example.com/app.work", ""},
		"descriptors":         {still, nil, func(calls int64) int64 { return 3 + calls }, nil, 6, 160, "leakcheck: resources grow with every call of op\n", ""},
		"ignored":             {leaks(1), nil, nil, func(r *request.Request) { r.Ignore("app.sessions", "bounded") }, 2, 20, "", "ignored: "},
		"goroutines, ignored": {still, func(calls int64) int64 { return calls }, nil, func(r *request.Request) { r.Ignore("app.work", "they end with the test") }, 2, 20, "", ""},
		"out of scope":        {leaks(1), func(calls int64) int64 { return calls }, nil, func(r *request.Request) { r.Narrow([]string{"example.com/other"}) }, 2, 20, "", ""},
		"for each of ten":     {leaks(10), nil, nil, func(r *request.Request) { r.Each = 10 }, 6, 160, "+1.00 *app.Session/op", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.report)
			if c.report == nil {
				w.report = func(calls int64) *refscan.Report {
					if len(w.asked) == 6 {
						calls = 12
					}
					return leaks(1)(calls)
				}
			}
			if c.goroutines != nil {
				w.source.Goroutines = func(func(string) bool) map[goroutine.Origin]goroutine.Pile {
					n := c.goroutines(w.calls)
					return map[goroutine.Origin]goroutine.Pile{worker: {Count: n, Frames: 2 * n, State: "select", Calls: []goroutine.Call{{Function: worker.Entry}}}}
				}
			}
			if c.files != nil {
				w.Resources = func(string) (*ledger.Ledger, error) {
					l := &ledger.Ledger{}
					for range c.files(w.calls) {
						l.Items = append(l.Items, ledger.Item{Kind: ledger.Descriptor, Names: [ledger.Levels]string{"pipe", "pipes", "pipes"}, Size: 1})
					}
					return l, nil
				}
			}
			w.options = c.options
			ft := &fakeT{name: "TestLogout"}
			ok := w.assert(ft, 0)
			assert.Equal(t, c.says == "", ok, ft.logText())
			assert.Contains(t, ft.errorText(), c.says)
			assert.Contains(t, ft.logText(), c.logs)
			assert.Len(t, w.asked, c.snapshots)
			assert.Equal(t, c.calls, w.calls)
		})
	}
}

// A mistake of the assertion calls op not once.
func TestMisuse(t *testing.T) {
	w := newWorld(t, leaks(1))
	w.options = func(r *request.Request) { r.Problem("Warmup(-1): it cannot be negative"); r.Problem("another") }
	ft := &fakeT{}
	assert.False(t, w.assert(ft, 0))
	assert.Equal(t, "leakcheck: Warmup(-1): it cannot be negative\n    another", ft.errorText())
	assert.Equal(t, int64(0), w.calls)
}

// If op fails the test, the assertion has no verdict. The log says in which call, and what grew
// until then.
func TestOpThatFails(t *testing.T) {
	for call, grown := range map[int64]bool{3: false, 15: false, 150: true} {
		w := newWorld(t, leaks(1))
		ft := &fakeT{name: "TestLogout"}
		w.fail = func(calls int64) { ft.failed = calls == call }
		assert.False(t, w.assert(ft, 0))
		assert.Empty(t, ft.errors)
		require.Len(t, ft.logs, 1)
		assert.Contains(t, ft.logs[0], "leakcheck: whether memory grows was not checked, because op failed the test in call ")
		assert.Equal(t, call, w.calls)
		assert.Equal(t, grown, strings.Contains(ft.logs[0], "what grew until then:\n        "), ft.logs[0])
	}
}

// An op that ends its goroutine has not returned. The log says so unless the test is skipped.
func TestOpThatDoesNotReturn(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*fakeT)
		want string
	}{
		"failed":  {func(ft *fakeT) { ft.failed = true }, "leakcheck: whether memory grows was not checked by AssertNoGrowth (app_test.go:31), because op failed the test in call 3"},
		"skipped": {func(ft *fakeT) { ft.skipped = true }, ""},
		"neither": {func(*fakeT) {}, "leakcheck: whether memory grows was not checked by AssertNoGrowth (app_test.go:31), because op did not return from call 3"},
	} {
		w := newWorld(t, leaks(1))
		ft := &fakeT{name: "TestLogout"}
		w.fail = func(calls int64) {
			if calls == 3 {
				c.end(ft)
				runtime.Goexit()
			}
		}
		done := make(chan bool)
		go func() {
			defer close(done)
			at := w.begin(ft).At
			AssertNoGrowth(w.Checker, ft, at, w.op(0), w.request(), w.source)
		}()
		<-done
		assert.Equal(t, c.want, ft.logText(), name)
	}
}

// Without time for the calls and snapshots that a verdict takes, the verdict is unknown, and the
// message says what was seen.
func TestOutOfTime(t *testing.T) {
	for name, c := range map[string]struct {
		op, timeout time.Duration
		verdict     verdict.Verdict
		says        []string
	}{
		"time enough":         {20 * time.Second, 2 * time.Hour, verdict.Fail, nil},
		"no time at all":      {20 * time.Second, 30 * time.Second, verdict.Unknown, []string{"op was called 1 time, the slowest call took 20s, and 0 snapshots could be taken, where two with calls of op between them are the least"}},
		"for one snapshot":    {20 * time.Second, 250 * time.Second, verdict.Unknown, []string{"and 1 snapshot could be taken, where two"}},
		"for two snapshots":   {20 * time.Second, 10 * time.Minute, verdict.Unknown, []string{"and 2 snapshots could be taken; memory grew with each batch of calls until then", "remedy: raise the timeout (go test -timeout)", "\n    what grew until then:\n        "}},
		"but for the details": {time.Second, 200 * time.Second, verdict.Fail, nil},
	} {
		w := newWorld(t, leaks(1))
		w.takes = 3 * time.Second
		ft := &fakeT{name: "TestLogout", timeout: c.timeout}
		o := NewExperiment(w.begin(ft), w.op(c.op), w.source).Judge()
		assert.Equal(t, c.verdict, o.Verdict, "%s: %s", name, o.Message)
		for _, text := range c.says {
			assert.Contains(t, o.Message, text, name)
		}
		assert.Less(t, w.slept, c.timeout, name)
	}
}

// A snapshot that fails leaves no verdict. One that does not agree with the collector is
// taken again. One that misses too much counts in the end, but not for a pass.
func TestSnapshots(t *testing.T) {
	const live = 100 << 20
	for name, c := range map[string]struct {
		err     error
		report  func(int64) *refscan.Report
		verdict verdict.Verdict
		says    string
		asked   int
	}{
		"an error":        {errors.New("no fork"), nil, verdict.Unknown, "cause:  no fork", 1},
		"finds too much":  {nil, noMemory(refscan.Totals{LiveBytes: live, ExtraBytes: live / 2}), verdict.Unknown, "the scan does not agree with the garbage collector", 3},
		"misses too much": {nil, noMemory(refscan.Totals{LiveBytes: live, MissedBytes: live / 2}), verdict.Unknown, "the scan does not agree with the garbage collector", 6},
	} {
		w := newWorld(t, c.report)
		w.err = c.err
		o := NewExperiment(w.begin(&fakeT{name: "TestX"}), w.op(0), w.source).Judge()
		assert.Equal(t, c.verdict, o.Verdict, name)
		assert.Contains(t, o.Message, c.says, name)
		assert.Len(t, w.asked, c.asked, name)
	}
}

// Without the snapshot that would confirm growth there is no verdict.
func TestNoLastSnapshot(t *testing.T) {
	w := newWorld(t, nil)
	w.report = func(calls int64) *refscan.Report {
		if len(w.asked) == 5 {
			w.err = errors.New("no fork")
		}
		return leaks(1)(calls)
	}
	o := NewExperiment(w.begin(&fakeT{name: "TestX"}), w.op(0), w.source).Judge()
	assert.Equal(t, verdict.Unknown, o.Verdict)
	assert.Contains(t, o.Message, "cause:  no fork")
	assert.Len(t, w.asked, 6)
}

// A Scope that the program does not have is a mistake.
func TestUnknownScope(t *testing.T) {
	w := newWorld(t, leaks(1))
	w.names.unknown = true
	w.options = func(r *request.Request) { r.Narrow([]string{"example.com/other"}) }
	o := NewExperiment(w.begin(&fakeT{name: "TestX"}), w.op(0), w.source).Judge()
	assert.Equal(t, []any{verdict.Fail, true}, []any{o.Verdict, o.Misuse})
	assert.Contains(t, o.Message, `leakcheck: Scope("example.com/other"): the program has no such package`)
}

// The stacks of goroutines that an Ignore names do not count, nor do the goroutines.
func TestIgnoredStacks(t *testing.T) {
	for pattern, passes := range map[string]bool{"app.work": true, "app.other": false} {
		w := newWorld(t, leaks(0))
		w.stacks = func(calls int64) []*refscan.GoroutineStack {
			return reporttest.Goroutines(int(calls), "example.com/app.work", "example.com/app.New", reporttest.StackOf("example.com/app.work", 4096))
		}
		w.Resources = func(string) (*ledger.Ledger, error) {
			name := [ledger.Levels]string{"stacks", "stacks", "stacks"}
			return &ledger.Ledger{Items: []ledger.Item{{Kind: ledger.Stack, Names: name, Size: 64 << 10 * w.calls}}}, nil
		}
		w.options = func(r *request.Request) { r.Ignore(pattern, "they end with the test") }
		ft := &fakeT{name: "TestX"}
		assert.Equal(t, passes, w.assert(ft, 0), ft.errorText())
	}
}

// A timer that may work for many calls is waited for if Full asks for that; else the log of a pass
// says that it was not.
func TestSharedTimer(t *testing.T) {
	for _, full := range []bool{false, true} {
		w := newWorld(t, leaks(0))
		w.source.Timers = func(_ context.Context, visit func(proof.Timer)) { visit(proof.Timer{Address: 7, In: 3 * time.Second}) }
		w.options = func(r *request.Request) { r.Full = full }
		ft := &fakeT{name: "TestX"}
		assert.True(t, w.assert(ft, 0), ft.errorText())
		assert.Equal(t, !full, strings.Contains(ft.logText(), "is due in 3s"), ft.logText())
		assert.Equal(t, full, w.slept >= 3*time.Second, w.slept)
	}
}

// The record of a failure has what grows, with its rate. Its profile is that from before the batch
// in which each allocation was recorded.
func TestOutcome(t *testing.T) {
	w := newWorld(t, leaks(1))
	o := NewExperiment(w.begin(&fakeT{name: "TestX"}), w.op(0), w.source).Judge()
	assert.Equal(t, verdict.Fail, o.Verdict)
	require.NotEmpty(t, o.Bounds)
	b := o.Bounds[0]
	assert.Equal(t, []any{verdict.Fail, "+1.00 *app.Session/op (+424 B/op)", 1.0}, []any{b.Verdict, b.Growth, b.PerCall})
	assert.Equal(t, "heap after 80", o.Eval.Heap)
	assert.Equal(t, "heap after 10", o.Base.Heap)
	assert.Equal(t, w.report(10).Totals.LiveBytes, o.Base.Live)
	assert.Contains(t, strings.Join(o.Body(), "\n"), "op was called 160 times")
	assert.Equal(t, 500*time.Millisecond, w.slept, "what is about to end may end")
	w = newWorld(t, leaks(1))
	w.env.MemProfile = true // go test is to write a profile
	o = NewExperiment(w.begin(&fakeT{name: "TestX"}), w.op(0), w.source).Judge()
	assert.Equal(t, "heap after 160", o.Eval.Heap)
}

// What leakgate suppresses claims objects last, and counts.
func TestSuppressed(t *testing.T) {
	w := newWorld(t, leaks(1))
	w.env.Suppressed = []string{"app.sessions"}
	assert.False(t, w.assert(&fakeT{name: "TestX"}, 0))
	order := w.asked[0].Order
	assert.True(t, order.LeftOutPath("example.com/app.sessions", &refscan.RootInfo{}))
	assert.False(t, order.LeftOutPath("example.com/app.cache", &refscan.RootInfo{}))
	assert.True(t, !order.PackagesFirst && !order.TestsLast)
}

// Resources that cannot be listed are noted, once.
func TestResourcesNotListed(t *testing.T) {
	fills := func(calls int64) *refscan.Report { return leaks(1)(min(calls, 30)) }
	w := newWorld(t, fills)
	w.Resources = func(string) (*ledger.Ledger, error) {
		return &ledger.Ledger{Missing: []ledger.Unread{{Kind: ledger.Process, Err: errors.New("no /proc")}}}, nil
	}
	ft := &fakeT{name: "TestX"}
	assert.True(t, w.assert(ft, 0))
	assert.Equal(t, 1, strings.Count(ft.logText(), "not all resources were looked at: child processes: no /proc"))
	w = newWorld(t, fills)
	w.Resources = func(string) (*ledger.Ledger, error) { return nil, errors.New("no descriptors") }
	ft = &fakeT{name: "TestX"}
	assert.True(t, w.assert(ft, 0))
	assert.Equal(t, 1, strings.Count(ft.logText(), "not all resources were looked at: no descriptors"))
}

// Nothing is proved where an option excludes something, or asks for other calls or for snapshots.
func TestProvable(t *testing.T) {
	objects := func(context.Context, func(string, ...any)) (*proof.Watch, error) { return nil, assert.AnError }
	for name, c := range map[string]struct {
		batch  int
		change func(*world, *request.Request)
		want   bool
	}{
		"all":          {minProofBatch, func(*world, *request.Request) {}, true},
		"a few calls":  {minProofBatch - 1, func(*world, *request.Request) {}, false},
		"full":         {minProofBatch, func(_ *world, r *request.Request) { r.Full = true }, false},
		"all full":     {minProofBatch, func(w *world, _ *request.Request) { w.env.Full = true }, false},
		"iterations":   {minProofBatch, func(_ *world, r *request.Request) { r.Iterations = 100 }, false},
		"scope":        {minProofBatch, func(_ *world, r *request.Request) { r.Narrow([]string{"app"}) }, false},
		"ignore":       {minProofBatch, func(_ *world, r *request.Request) { r.Ignore("app.x", "y") }, false},
		"no way to do": {minProofBatch, func(w *world, _ *request.Request) { w.source.Objects = nil }, false},
	} {
		w := newWorld(t, leaks(0))
		w.source.Objects = objects
		w.options = func(r *request.Request) {
			r.Iterations = 0
			c.change(w, r)
		}
		w.request() // changes the world, too
		x := NewExperiment(w.begin(&fakeT{}), w.op(0), w.source)
		assert.Equal(t, c.want, x.prover.provable(c.batch), name)
	}
}

// If objects cannot be watched, snapshots follow. So they do if op fails meanwhile.
func TestProofThatCannotBegin(t *testing.T) {
	w := newWorld(t, leaks(0))
	watched := 0
	w.source.Objects = func(_ context.Context, logf func(string, ...any)) (*proof.Watch, error) {
		watched++
		logf("built a twin")
		return nil, assert.AnError
	}
	w.options = func(r *request.Request) { r.Warmup, r.Iterations = 0, 0 }
	ft := &fakeT{name: "TestX"}
	assert.True(t, w.assert(ft, 0))
	assert.Equal(t, 1, watched)
	assert.Len(t, w.asked, 2)
	assert.Contains(t, ft.logText(), "built a twin")
}

// What is proved says so, with what was not looked at.
func TestProved(t *testing.T) {
	w := newWorld(t, leaks(0))
	p := &prover{a: w.begin(&fakeT{})}
	p.a.Logs = []string{"built a twin"}
	o := p.proved(proofResult{})
	assert.Equal(t, []any{verdict.Pass, verdict.ByCounters, []string{"built a twin"}}, []any{o.Verdict, o.Method, o.Notes})
	o = p.proved(proofResult{unwatched: 3 << 20, full: "a channel is about to be full"})
	require.Len(t, o.Notes, 3)
	assert.Contains(t, o.Notes[1], "3.0 MiB")
	assert.Equal(t, "a channel is about to be full", o.Notes[2])
}

// A report of two kinds of things that grow tells both.
func TestGrowthOfTwo(t *testing.T) {
	w := newWorld(t, func(calls int64) *refscan.Report {
		cache := reporttest.Global(reporttest.Node("example.com/app.cache", "[]*example.com/app.Entry", 1, 4096, reporttest.Node("[*]", "*example.com/app.Entry", 3*calls, 48*calls)), "/src/app/cache.go", 3)
		return reporttest.Report(reporttest.Sessions(5+calls), cache)
	})
	ft := &fakeT{name: "TestX"}
	assert.False(t, w.assert(ft, 0))
	assert.Contains(t, ft.errorText(), "+1.00 *app.Session/op")
	assert.Contains(t, ft.errorText(), "+3.00 *app.Entry/op")
}
