package leakcheck

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// TestReachInPlaceOfSnapshots checks which bounds are judged by reach, without a snapshot, and the
// outcome of that.
func TestReachInPlaceOfSnapshots(t *testing.T) {
	own := Root("app.sessions").MaxObjects(200)
	for _, tt := range []struct {
		name  string
		opts  []Option
		env   func(*environ.Environment)
		asked string // idents, with bounds
	}{
		{"variable", []Option{own}, nil, "sessions 200 -1"},
		{"bytes", []Option{Root("example.com/app.sessions").MaxBytes(9)}, nil, "sessions -1 9"},
		{"two", []Option{own, Root("app.cache").None()}, nil, "sessions 200 -1, cache 0 -1"},
		{"since", []Option{own, Since(&Baseline{of: request.Baseline{}})}, nil, "sessions 200 -1"},
		{"wildcard", []Option{Root("app.sess*").MaxObjects(200)}, nil, ""},
		{"variable of a function", []Option{Root("app.Serve.buf").MaxObjects(200)}, nil, ""},
		{"method", []Option{Root("app.(*Server).Serve").MaxObjects(200)}, nil, ""},
		{"timer", []Option{Root("timer(app.expire)").MaxObjects(200)}, nil, ""},
		{"no package", []Option{Root("sessions").MaxObjects(200)}, nil, ""},
		{"path of a variable", []Option{Path("app.sessions").MaxObjects(200)}, nil, "sessions 200 -1"},
		{"path", []Option{own, Path("app.sessions[*]").MaxObjects(200)}, nil, ""},
		{"retained", []Option{own, Root("app.sessions").MaxRetainedObjects(200)}, nil, ""},
		{"goroutines", []Option{own, Goroutines("app.Serve").Max(1)}, nil, ""},
		{"scope", []Option{own, Scope("example.com/app")}, nil, ""},
		{"ignore", []Option{own, Ignore("app.cache", "bounded")}, nil, ""},
		{"full", []Option{own, Full()}, nil, ""},
		{"full for all", []Option{own}, func(e *environ.Environment) { e.Full = true }, ""},
		{"files", []Option{own}, func(e *environ.Environment) { e.Every = true }, ""},
		{"measuring", []Option{own}, func(e *environ.Environment) { e.Measure = true }, ""},
		{"golden", nil, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, report(sessions(100)))
			w.env.Verbose = true
			if tt.asked != "" || tt.name == "files" { // a process leaves few of them
				w.env.Artifacts = t.TempDir()
			}
			if tt.env != nil {
				tt.env(&w.env)
			}
			asked := ""
			w.Prove = func(_ context.Context, c proof.Claims) (bool, []string, error) {
				var each []string
				for _, r := range c.Variables {
					each = append(each, fmt.Sprintf("%s %d %d", r.Ident, r.MaxObjects, r.MaxBytes))
					r.Objects, r.Bytes = 7, 8
					if !r.Is("example.com/app."+r.Ident) || r.Is("example.com/other."+r.Ident) {
						t.Errorf("%s is another one", r.Ident)
					}
				}
				asked = strings.Join(each, ", ")
				return true, []string{"built a twin"}, nil
			}
			ft, _ := w.assert(tt.opts...)
			if asked != tt.asked || (w.snapshots == 0) != (asked != "") {
				t.Errorf("asked %q, %d snapshots: %s", asked, w.snapshots, ft.errorText())
			}
			if asked == "" {
				return
			}
			r := readResult(t, filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout", "1"))
			b := r.Bounds[0]
			if r.Verdict != verdict.Pass || r.Method != verdict.ByReach || b.Verdict != verdict.Pass || b.Objects != 7 || b.Bytes != 8 {
				t.Errorf("%+v", r)
			}
			if log := strings.Join(ft.logs, "\n"); !strings.Contains(log, "built a twin") || !strings.Contains(log, "passed by reach") {
				t.Error(log)
			}
		})
	}
}

// A bound that is exceeded, or not decided by reach, is judged by snapshots. If no snapshot could
// decide it either, the verdict is unknown.
func TestReachThatProvesNothing(t *testing.T) {
	w := newWorld(t, report(sessions(100)))
	asked := 0
	w.Prove = func(context.Context, proof.Claims) (bool, []string, error) {
		asked++
		return false, nil, nil
	}
	ft, ok := w.assert(Root("app.sessions").MaxObjects(5))
	if ok || asked != 1 || w.snapshots != 3 || !strings.Contains(ft.errorText(), "more is retained") {
		t.Errorf("asked %d times, %d snapshots: %s", asked, w.snapshots, ft.errorText())
	}
	w.Prove = func(context.Context, proof.Claims) (bool, []string, error) {
		return false, nil, &refscan.UnavailableError{Cause: "no go command", Err: errors.New("sorry")}
	}
	w.env.Ci, w.snapshots = true, 0
	ft, ok = w.assert(Root("app.sessions").MaxObjects(200))
	if ok || w.snapshots != 0 || !slices.ContainsFunc(ft.errors, func(s string) bool { return strings.Contains(s, "UNKNOWN") && strings.Contains(s, "no go command") }) {
		t.Errorf("%d snapshots: %s", w.snapshots, ft.errorText())
	}
}
