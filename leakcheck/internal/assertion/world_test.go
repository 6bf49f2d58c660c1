package assertion

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

var appNames = reporttest.Names{
	Roots: []string{"example.com/app.sessions", "example.com/app.cache"},
	Types: []string{"*example.com/app.Session", "example.com/app.Session", "[]uint8"},
}

// A fakeT records what an assertion does to a test.
type fakeT struct {
	name         string
	errors, logs []string
	skipped      string
	timeout      time.Duration // 0: none
	cleanups     []func()
}

func (t *fakeT) Helper()                     {}
func (t *fakeT) Name() string                { return t.name }
func (t *fakeT) Deadline() (time.Time, bool) { return worldBegan.Add(t.timeout), t.timeout > 0 }
func (t *fakeT) Cleanup(f func())            { t.cleanups = append(t.cleanups, f) }
func (t *fakeT) Logf(f string, a ...any)     { t.logs = append(t.logs, fmt.Sprintf(f, a...)) }
func (t *fakeT) Errorf(f string, a ...any)   { t.errors = append(t.errors, fmt.Sprintf(f, a...)) }
func (t *fakeT) Skipf(f string, a ...any)    { t.skipped = fmt.Sprintf(f, a...) }

func (t *fakeT) errorText() string { return strings.Join(t.errors, "\n") }
func (t *fakeT) logText() string   { return strings.Join(t.logs, "\n") }

func (t *fakeT) end() {
	for _, f := range t.cleanups {
		f()
	}
	t.cleanups = nil
}

// A world is a checker whose snapshots show handmade reports. Its clock stands still but for the
// waits between snapshots, and the snapshots themselves.
type world struct {
	*Checker
	env     environ.Environment
	reports []*refscan.Report // one a snapshot; the last one repeats
	err     error             // of snapshots
	takes   time.Duration     // a snapshot

	asked     []observe.Needs // by snapshot
	slept     time.Duration
	snapshots int
	exitCode  int
	stderr    bytes.Buffer
}

var worldBegan = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, reports ...*refscan.Report) *world {
	t.Helper()
	w := &world{reports: reports, exitCode: -1}
	w.env = environ.Environment{Dir: t.TempDir(), PackagePath: "example.com/app", ModulePath: "example.com/app"}
	w.Checker = &Checker{
		Observe: w.observe,
		System: System{
			Environment: func() *environ.Environment { e := w.env; return &e },
			Sleep:       func(d time.Duration) { w.slept += d },
			Now:         func() time.Time { return worldBegan.Add(w.slept) },
			Exit:        func(code int) { w.exitCode = code },
			Stderr:      &w.stderr,
		},
	}
	return w
}

func (w *world) observe(ctx context.Context, n observe.Needs) (*observe.Observation, error) {
	w.asked = append(w.asked, n)
	if w.err != nil {
		return nil, w.err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.slept += w.takes
	o := &observe.Observation{Report: &refscan.Report{}}
	if n.Heap {
		o.Report, o.Names = w.reports[min(w.snapshots, len(w.reports)-1)], appNames
	}
	w.snapshots++
	if n.Profile {
		o.Heap = fmt.Sprintf("heap profile %d", w.snapshots)
	}
	return o, nil
}

// begin makes an assertion of a test of the world.
func (w *world) begin(t environ.TestingT, options ...func(*request.Request)) *Assertion {
	return w.Begin(t, environ.Site{File: "/src/app/app_test.go", Line: 31}, requestOf(options...))
}

// assert runs an assertion on a test of its own.
func (w *world) assert(options ...func(*request.Request)) (*fakeT, bool) {
	t := &fakeT{name: "TestLogout"}
	ok := w.AssertRetained(t, environ.Site{File: "/src/app/app_test.go", Line: 31}, requestOf(options...))
	t.end()
	return t, ok
}

// golden returns the text of a golden file, "" if there is none.
func (w *world) golden(file string) string {
	data, _ := os.ReadFile(filepath.Join(w.env.Dir, "testdata", "leakcheck", file))
	return string(data)
}

func (w *world) writeGolden(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join(w.env.Dir, "testdata", "leakcheck", file)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
}

// goldens has a golden file, which allows as many sessions.
func goldens(n int) string {
	return fmt.Sprintf("leakgate golden v1\n\n1 8192 example.com/app.sessions map[string]*example.com/app.Session\n"+
		"%d %d example.com/app.sessions[*] *example.com/app.Session\n%[1]d %[3]d example.com/app.sessions[*].buf []uint8\n"+
		"%[4]d %[5]d example.com/app.sessions[*].id string\n", n, 96*n, 320*n, n/2, n/2*16)
}

func requestOf(options ...func(*request.Request)) *request.Request {
	r := &request.Request{}
	for _, o := range options {
		o(r)
	}
	r.Check()
	return r
}

// atMost bounds the objects of a variable.
func atMost(n int64, variable string) func(*request.Request) {
	return func(r *request.Request) {
		r.Limit(request.Bound{Selector: request.RootSelector(variable), MaxObjects: &n})
	}
}

// atMostOf bounds the objects of a type.
func atMostOf(n int64, typ string) func(*request.Request) {
	return func(r *request.Request) {
		r.Limit(request.Bound{Selector: request.TypeNamedSelector(typ), MaxObjects: &n})
	}
}

func named(golden string) func(*request.Request) {
	return func(r *request.Request) { r.CompareWith(golden) }
}

func since(b *request.Baseline) func(*request.Request) {
	return func(r *request.Request) { r.Baseline = b }
}

// sessions is a report whose audit is in order, on so many sessions.
func sessions(n int64) *refscan.Report { return reporttest.Report(reporttest.Sessions(n)) }

// unsound is a report that misses what is alive.
func unsound() *refscan.Report {
	r := sessions(1)
	r.Totals.LiveBytes, r.Totals.ExtraBytes = 100<<20, 50<<20
	return r
}
