package leakcheck

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

func TestResourceBounds(t *testing.T) {
	child := ledger.Item{Kind: ledger.Process, Names: [ledger.Levels]string{"sleep"}, State: "running", Size: 1}
	threads := ledger.Item{Kind: ledger.Thread, Names: [ledger.Levels]string{"threads"}, Size: 7}
	items := append(postgres(3), child, threads)
	for _, tt := range []struct {
		option Option
		want   []string // nil: it holds
	}{
		{Files().Max(3), nil},
		{Files().Max(2), []string{"Files().Max(2)\n    found 3 descriptors: 1 more than allowed\n", "3  socket to 127.0.0.1:5432 (ESTABLISHED)\n"}},
		{Files().None(), []string{"Files().None()\n    found 3 descriptors\n"}},
		{Processes().None(), []string{"Processes().None()\n    found 1 child process\n", "1  sleep (running)\n"}},
		{Processes().Max(1), nil},
		{Threads().Max(7), nil},
		{Threads().Max(6), []string{"Threads().Max(6)\n    found 7 threads: 1 more than allowed\n"}},
		{Threads().None(), []string{"every process has threads; give Max, or Since"}},
		{Files().Max(-1), []string{"Files().Max(-1): a bound cannot be negative"}},
		{ResourceSelector{}.None(), []string{"a zero ResourceSelector: start with Files, Threads or Processes"}},
	} {
		w := newWorld(t, report(sessions(1)))
		w.Resources = func(string) (*ledger.Ledger, error) { return &ledger.Ledger{Items: items}, nil }
		ft, ok := w.assert(tt.option)
		if ok != (tt.want == nil) {
			t.Errorf("%v: %v\n%s", tt.option, ok, ft.errorText())
		}
		wantInOrder(t, ft.errorText(), tt.want...)
		if w.needed.Heap || w.needed.Stacks {
			t.Errorf("%v looks at more than resources: %+v", tt.option, w.needed)
		}
	}
}

// A resource that is gone by the last snapshot was about to end.
func TestResourceAboutToEnd(t *testing.T) {
	w := newWorld(t, report(sessions(1)))
	looks := 0
	w.Resources = func(string) (*ledger.Ledger, error) {
		looks++
		return &ledger.Ledger{Items: postgres(int64(3 - looks))}, nil
	}
	if ft, ok := w.assert(Files().None()); !ok || looks != 3 || !w.needed.Collect {
		t.Errorf("%v after %d looks, with a collection before the last: %v\n%s", ok, looks, w.needed.Collect, ft.errorText())
	}
}

func TestResourcesSince(t *testing.T) {
	w := newWorld(t, report(sessions(1)))
	items := append(postgres(3), descriptors(1, "/tmp/x", "files in /tmp", "files")...)
	w.Resources = func(string) (*ledger.Ledger, error) { return &ledger.Ledger{Items: items}, nil }
	b := &Baseline{*w.TakeBaseline(&fakeT{}, nil)}
	if ft, ok := w.assert(Files().None(), Threads().None(), Since(b)); !ok {
		t.Error(ft.errorText())
	}
	items = append(slices.Clip(items), postgres(2)...)
	ft, ok := w.assert(Files().Max(1), Since(b))
	if ok {
		t.Error("passed")
	}
	wantInOrder(t, ft.errorText(), "found 2 descriptors beyond the baseline: 1 more than allowed\n", "2  socket to 127.0.0.1:5432 (ESTABLISHED)\n")
	if strings.Contains(ft.errorText(), "/tmp/x") {
		t.Errorf("what was there before is listed:\n%s", ft.errorText())
	}
}

// If resources cannot be listed, the verdict on a bound is unknown.
func TestResourcesUnknown(t *testing.T) {
	w := newWorld(t, report(sessions(1)))
	w.env.Strict = true
	if ft, ok := w.assert(Files().Max(100)); ok || !strings.Contains(ft.errorText(), "UNKNOWN") {
		t.Errorf("%v\n%s", ok, ft.errorText())
	}
	w.Resources = func(string) (*ledger.Ledger, error) {
		return nil, &os.PathError{Op: "open", Path: "/proc/self/stat", Err: syscall.EMFILE}
	}
	if ft, ok := w.assert(Files().Max(100)); ok || !strings.Contains(ft.errorText(), "raise ulimit -n") {
		t.Errorf("%v\n%s", ok, ft.errorText())
	}
	w.Resources = func(string) (*ledger.Ledger, error) {
		return &ledger.Ledger{Missing: []ledger.Unread{{Kind: ledger.Process, Err: errors.New("no /proc/self/task")}}}, nil
	}
	if ft, ok := w.assert(Processes().None()); ok || !strings.Contains(ft.errorText(), "UNKNOWN") {
		t.Errorf("%v\n%s", ok, ft.errorText())
	}
	if ft, ok := w.assert(Files().None()); !ok {
		t.Error(ft.errorText())
	}
}

func TestResourceBoundRecord(t *testing.T) {
	w := newWorld(t, report(sessions(1)))
	w.Resources = func(string) (*ledger.Ledger, error) { return &ledger.Ledger{Items: postgres(3)}, nil }
	w.env.Artifacts = t.TempDir()
	w.assert(Files().None())
	r := readResult(t, filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout", "1"))
	want := verdict.Resource{Kind: "descriptor", Name: "socket to 127.0.0.1:5432", State: "ESTABLISHED", Added: 3}
	if len(r.Bounds) != 1 || r.Bounds[0].Selector != "Files()" || r.Bounds[0].Objects != 3 || len(r.Bounds[0].Resources) != 1 || r.Bounds[0].Resources[0] != want {
		t.Errorf("%+v", r.Bounds)
	}
}

// A runM is a test run that leaves resources behind.
type runM func() int

func (m runM) Run() int { return m() }

// VerifyTestMain reports the resources that the tests have left.
func TestLeftovers(t *testing.T) {
	w := newWorld(t, report(conns(3), sessions(1)))
	child := ledger.Item{Kind: ledger.Process, Names: [ledger.Levels]string{"sleep"}, State: "running", Size: 1}
	var items []ledger.Item
	w.Resources = func(string) (*ledger.Ledger, error) { return &ledger.Ledger{Items: items}, nil }
	run := runM(func() int {
		items = append(postgres(3), child)
		return 0
	})
	w.VerifyTestMain(run, environ.Site{}, newRequest([]Option{Root("app.sessions").MaxObjects(10)}))
	if text := w.stderrBuf.String(); w.exitCode != 0 || !strings.Contains(text, "child processes that the tests have left: 1 of sleep (running)\n") || strings.Contains(text, "descriptors") {
		t.Errorf("exit code %d\n%s", w.exitCode, text)
	}
	items = nil
	w.stderrBuf.Reset()
	w.VerifyTestMain(runM(func() int { items = postgres(5); return 0 }), environ.Site{}, newRequest([]Option{Root("app.sessions").MaxObjects(10)}))
	if text := w.stderrBuf.String(); w.exitCode != 0 || !strings.Contains(text, "of which at least 2 belong to no Go object: 5 of socket to 127.0.0.1:5432") {
		t.Errorf("exit code %d\n%s", w.exitCode, text)
	}
	items = nil
	w.VerifyTestMain(runM(func() int { items = []ledger.Item{child}; return 0 }), environ.Site{}, newRequest([]Option{Processes().None()}))
	if w.exitCode != 1 {
		t.Errorf("a child process is left, and the exit code is %d", w.exitCode)
	}
}
