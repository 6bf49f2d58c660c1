package leakcheck

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
)

type counted struct{ _ *counted }

// TestTypesInPlaceOfScans checks which bounds on types are judged by a count, and the outcome of
// that.
func TestTypesInPlaceOfScans(t *testing.T) {
	for _, tt := range []struct {
		name  string
		opts  []Option
		asked string
		reach bool // the objects below the variables are within their bounds
	}{
		{"type", []Option{Type[*counted]().MaxObjects(3).MaxBytes(70)}, `"*github.com/leakgate/leakgate/leakcheck.counted github.com/leakgate/leakgate/leakcheck.counted" 3 70`, true},
		{"named", []Option{TypeNamed("leakcheck.counted").None()}, `"TypeNamed(\"leakcheck.counted\")" 0 -1`, true},
		{"variable, too", []Option{Root("app.sessions").None(), Type[*counted]().None()}, `"*github.com/leakgate/leakgate/leakcheck.counted github.com/leakgate/leakgate/leakcheck.counted" 0 -1`, true},
		{"variable, which leads to more", []Option{Root("app.sessions").MaxObjects(1000), TypeNamed("app.Session").MaxObjects(100)}, "", false},
		{"path, too", []Option{Path("app.sessions").MaxObjects(1000), Type[*counted]().None()}, "", true},
		{"retained", []Option{Type[*counted]().MaxRetainedObjects(1)}, "", true},
		{"scope", []Option{Type[*counted]().None(), Scope("example.com/app")}, "", true},
		{"full", []Option{Type[*counted]().None(), Full()}, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, report(sessions(100)))
			w.env.Verbose = true
			if tt.asked != "" { // a process leaves few of them
				w.env.Artifacts = t.TempDir()
			}
			w.Reach = func(context.Context, []*proof.Reach) (bool, []string, error) { return tt.reach, nil, nil }
			scan, asked := w.Observe, ""
			w.Observe = func(ctx context.Context, n observe.Needs) (*observe.Observation, error) {
				if len(n.Types) == 0 {
					return scan(ctx, n)
				}
				for _, c := range n.Types {
					asked += fmt.Sprintf("%q %d %d", c.Name, c.MaxObjects, c.MaxBytes)
					c.Objects, c.Bytes = 2, -1
					if !c.Is("*github.com/leakgate/leakgate/leakcheck.counted") || c.Is("*int") {
						t.Error("another type is meant")
					}
				}
				return &observe.Observation{Report: &refscan.Report{}, Counted: true, Logs: []string{"built a twin"}}, nil
			}
			ft, _ := w.assert(tt.opts...)
			if asked != tt.asked || (w.snapshots == 0) != (asked != "") {
				t.Fatalf("asked %s, %d scans: %s", asked, w.snapshots, ft.errorText())
			}
			if asked == "" {
				return
			}
			r := readResult(t, filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout", "1"))
			b := r.Bounds[len(r.Bounds)-1]
			if r.Verdict != verdict.Pass || r.Method != verdict.ByTypes || len(r.Bounds) != len(tt.opts) || b.Verdict != verdict.Pass || b.Objects != 2 || b.Bytes != 0 {
				t.Errorf("%+v", r)
			}
			if log := strings.Join(ft.logs, "\n"); !strings.Contains(log, "built a twin") || !strings.Contains(log, "passed by types") {
				t.Error(log)
			}
		})
	}
}
