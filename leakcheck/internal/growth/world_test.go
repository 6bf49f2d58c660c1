package growth

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// names is a handmade inventory.
type names struct {
	types   []string
	unknown bool // it has no roots
}

func (n names) KnownRoot(func(string) bool) bool { return !n.unknown }
func (n names) RootNames() []string              { return nil }
func (n names) TypeNames() []string              { return n.types }
func (n names) KnownType(match func(string) bool) (known, ofObjects bool) {
	known = slices.ContainsFunc(n.types, match)
	return known, known
}
func (n names) MissingField(string, string) *debuginfo.MissingField { return nil }
func (n names) Declaration(string) (string, int)                    { return "", 0 }

// A fakeT records what an assertion does to a test.
type fakeT struct {
	name            string
	errors, logs    []string
	failed, skipped bool
	timeout         time.Duration // 0: none
}

func (t *fakeT) Helper()                     {}
func (t *fakeT) Name() string                { return t.name }
func (t *fakeT) Failed() bool                { return t.failed }
func (t *fakeT) Skipped() bool               { return t.skipped }
func (t *fakeT) Deadline() (time.Time, bool) { return worldBegan.Add(t.timeout), t.timeout > 0 }
func (t *fakeT) Logf(f string, a ...any)     { t.logs = append(t.logs, fmt.Sprintf(f, a...)) }
func (t *fakeT) Errorf(f string, a ...any)   { t.errors = append(t.errors, fmt.Sprintf(f, a...)) }
func (t *fakeT) errorText() string           { return strings.Join(t.errors, "\n") }
func (t *fakeT) logText() string             { return strings.Join(t.logs, "\n") }

// A world is a checker whose snapshots show handmade reports, by how often op was called. Its clock
// stands still but for waits, snapshots and calls of op.
type world struct {
	*assertion.Checker
	env    environ.Environment
	report func(calls int64) *refscan.Report
	err    error // of snapshots
	takes  time.Duration
	names  names
	stacks func(calls int64) []*refscan.GoroutineStack

	source  Source
	options func(*request.Request)
	fail    func(calls int64) // called by op

	mu     sync.Mutex
	calls  int64
	slept  time.Duration
	asked  []observe.Needs // by snapshot
	stderr bytes.Buffer
}

var worldBegan = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, report func(calls int64) *refscan.Report) *world {
	t.Helper()
	w := &world{report: report, stacks: func(int64) []*refscan.GoroutineStack { return nil }}
	w.env = environ.Environment{Dir: t.TempDir(), PackagePath: "example.com/app", ModulePath: "example.com/app"}
	w.source.Goroutines = func(func(string) bool) map[goroutine.Origin]goroutine.Pile {
		return map[goroutine.Origin]goroutine.Pile{}
	}
	w.Checker = &assertion.Checker{
		Observe: w.observe,
		System: assertion.System{
			Environment: func() *environ.Environment { e := w.env; return &e },
			Sleep:       w.sleep,
			Now: func() time.Time {
				w.mu.Lock()
				defer w.mu.Unlock()
				return worldBegan.Add(w.slept)
			},
			Stderr: &w.stderr,
		},
	}
	return w
}

func (w *world) sleep(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slept += d
}

func (w *world) observe(_ context.Context, n observe.Needs) (*observe.Observation, error) {
	w.asked = append(w.asked, n)
	if w.err != nil {
		return nil, w.err
	}
	w.sleep(w.takes)
	o := &observe.Observation{Report: w.report(w.calls), Names: w.names, Heap: fmt.Sprint("heap after ", w.calls)}
	if n.Stacks {
		o.Stacks, o.Functions = &refscan.Stacks{Goroutines: w.stacks(w.calls)}, func() iter.Seq[string] { return slices.Values([]string{}) }
	}
	return o, nil
}

// op is an operation that takes so long.
func (w *world) op(takes time.Duration) func() {
	return func() {
		w.calls++
		w.sleep(takes)
		if w.fail != nil {
			w.fail(w.calls)
		}
	}
}

// request is that of a world: 10 calls, and batches of 10 and more.
func (w *world) request() *request.Request {
	r := &request.Request{Calls: request.Calls{Warmup: 10, Iterations: 10}}
	if w.options != nil {
		w.options(r)
	}
	r.Check()
	return r
}

// assert runs AssertNoGrowth with an op that takes so long.
func (w *world) assert(t *fakeT, takes time.Duration) bool {
	return AssertNoGrowth(w.Checker, t, environ.Site{File: "/src/app/app_test.go", Line: 31}, w.op(takes), w.request(), w.source)
}

// begin makes an assertion of a test of the world.
func (w *world) begin(t *fakeT) *assertion.Assertion {
	return w.Begin(t, environ.Site{File: filepath.Join(w.env.Dir, "app_test.go"), Line: 31}, w.request())
}

// leaks leaves so many sessions with each call, beside some.
func leaks(each int64) func(int64) *refscan.Report {
	return func(calls int64) *refscan.Report { return reporttest.Report(reporttest.Sessions(5 + each*calls)) }
}

// noMemory is a report that misses more than a scan may, in a program that does not allocate.
func noMemory(totals refscan.Totals) func(int64) *refscan.Report {
	return func(int64) *refscan.Report {
		r := reporttest.Report(reporttest.Sessions(5))
		r.Totals = totals
		return r
	}
}
