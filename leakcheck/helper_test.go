package leakcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
)

var (
	_ TestingT = testing.TB(nil)
	_ TestingT = (*testing.F)(nil)
	_ TestingM = (*testing.M)(nil)
)

// What makes reports by hand.
var (
	node      = reporttest.Node
	withElems = reporttest.WithElems
	global    = reporttest.Global
	frame     = reporttest.Frame
	report    = reporttest.Report
	sessions  = reporttest.Sessions
)

var appNames = reporttest.Names{
	Roots: []string{
		"example.com/app.sessions", "example.com/app.srv", "example.com/app.debug", "example.com/app.cache",
		"example.com/app.(*pool).run", "runtime.allgs", "other.org/app.sessions2",
	},
	Types: []string{
		"example.com/app.Session", "*example.com/app.Session", "map[string]*example.com/app.Session", "[]uint8",
		"*example.com/app.Handler", "func example.com/app.(*pool).run.func1",
	},
	Hollow: []string{"example.com/app.Handler"},
}

var appFunctions = []string{"example.com/app.New", "example.com/app.idle", "example.com/app.(*pool).run", "gopkg.in/yaml%2ev3.load"}

// A fakeT records what an assertion does to a test.
type fakeT struct {
	name     string
	errors   []string
	logs     []string
	skipped  string
	timeout  time.Duration // 0 for none
	cleanups []func()
}

func (t *fakeT) Helper() {}

func (t *fakeT) Deadline() (time.Time, bool) {
	return worldBegan.Add(t.timeout), t.timeout > 0
}

func (t *fakeT) Name() string { return t.name }

func (t *fakeT) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *fakeT) Logf(f string, a ...any) { t.logs = append(t.logs, fmt.Sprintf(f, a...)) }

func (t *fakeT) Errorf(f string, a ...any) { t.errors = append(t.errors, fmt.Sprintf(f, a...)) }

func (t *fakeT) Skipf(f string, a ...any) { t.skipped = fmt.Sprintf(f, a...) }

func (t *fakeT) logged(part string) bool { return strings.Contains(strings.Join(t.logs, "\n"), part) }

func (t *fakeT) errorText() string { return strings.Join(t.errors, "\n") }

func (t *fakeT) end() {
	for _, f := range t.cleanups {
		f()
	}
	t.cleanups = nil
}

// A world is a checker whose reports are handmade, in a package folder of its own.
type world struct {
	mu sync.Mutex // of the fields that change while an assertion runs
	*assertion.Checker
	env       environ.Environment
	reports   []*refscan.Report // one a snapshot; the last one repeats
	err       error
	snapshots int
	slept     time.Duration // no other time passes
	looks     time.Duration // duration of a snapshot
	exitCode  int
	stderrBuf bytes.Buffer
	names     reporttest.Names

	stacks refscan.Stacks             // handmade goroutines
	leaked []*refscan.LeakedGoroutine // of stacks
	needed observe.Needs              // of the last snapshot
}

var worldBegan = time.Now()

func newWorld(t *testing.T, reports ...*refscan.Report) *world {
	// All tests together, and with -count, leave more than one process may.
	t.Setenv(envvar.ArtifactsMax.Name(), "100000")
	w := &world{reports: reports, exitCode: -1, names: appNames}
	w.env = environ.Environment{Dir: t.TempDir(), PackagePath: "example.com/app", ModulePath: "example.com/app"}
	w.Checker = &assertion.Checker{
		Observe: func(ctx context.Context, n observe.Needs) (*observe.Observation, error) {
			w.mu.Lock() // the watch of a call that does not return looks, too
			defer w.mu.Unlock()
			w.needed = n
			if w.err != nil {
				return nil, w.err
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			w.slept += w.looks
			o := &observe.Observation{Report: &refscan.Report{}}
			if n.Stacks {
				o.Stacks, o.Leaked, o.Functions = &w.stacks, w.leaked, func() iter.Seq[string] { return slices.Values(appFunctions) }
			}
			if !n.Heap {
				return o, nil
			}
			o.Report, o.Names = w.reports[min(w.snapshots, len(w.reports)-1)], w.names
			o.Settle, o.Scan = 3*time.Millisecond, 2*time.Millisecond
			w.snapshots++
			if n.Profile {
				o.Heap = fmt.Sprintf("heap profile %d", w.snapshots)
			}
			return o, nil
		},
		System: assertion.System{
			Environment: func() *environ.Environment { e := w.env; return &e },
			Sleep: func(d time.Duration) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.slept += d
			},
			Now: func() time.Time {
				w.mu.Lock()
				defer w.mu.Unlock()
				return worldBegan.Add(w.slept)
			},
			Exit:   func(code int) { w.exitCode = code },
			Stderr: &w.stderrBuf,
		},
	}
	return w
}

// assert runs one assertion in the world, on a test of its own.
func (w *world) assert(opts ...Option) (*fakeT, bool) {
	t := &fakeT{name: "TestLogout"}
	ok := w.AssertRetained(t, environ.Site{File: "/src/app/app_test.go", Line: 31}, newRequest(opts))
	t.end()
	return t, ok
}

func (w *world) goldenText(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.env.Dir, "testdata", "leakcheck", file))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (w *world) writeGolden(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join(w.env.Dir, "testdata", "leakcheck", file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wantText(t *testing.T, what, got, want string) {
	t.Helper()
	if got != strings.TrimPrefix(want, "\n") {
		t.Errorf("%s:\n--- got\n%s\n--- want\n%s", what, got, want)
	}
}

// wantInOrder checks that a text has parts, one after the other.
func wantInOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("no %q, in order, in\n%s", part, text)
			return
		}
		rest = after
	}
}
