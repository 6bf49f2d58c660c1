package leakcheck

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/verdict"
)

type counted struct{ _ *counted }

// TestTypesInPlaceOfScans checks which bounds on types may be proved without a scan, and the
// outcome of that.
func TestTypesInPlaceOfScans(t *testing.T) {
	const exact = `"*github.com/leakgate/leakgate/leakcheck.counted github.com/leakgate/leakgate/leakcheck.counted"`
	for _, tt := range []struct {
		name  string
		opts  []Option
		asked string
	}{
		{"type", []Option{Type[*counted]().MaxObjects(3).MaxBytes(70)}, exact + " 3 70"},
		{"named", []Option{TypeNamed("leakcheck.counted").None()}, `"TypeNamed(\"leakcheck.counted\")" 0 -1`},
		{"pattern", []Option{TypeNamed("leakcheck.count*").None()}, ""},
		{"variable, too", []Option{Root("app.sessions").None(), Type[*counted]().None()}, "sessions 0 -1, " + exact + " 0 -1"},
		{"path, too", []Option{Path("app.sessions[*]").MaxObjects(1000), Type[*counted]().None()}, ""},
		{"retained", []Option{Type[*counted]().MaxRetainedObjects(1)}, ""},
		{"scope", []Option{Type[*counted]().None(), Scope("example.com/app")}, ""},
		{"full", []Option{Type[*counted]().None(), Full()}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, report(sessions(100)))
			w.env.Verbose = true
			if tt.asked != "" { // a process leaves few of them
				w.env.Artifacts = t.TempDir()
			}
			var asked []string
			w.Prove = func(_ context.Context, c proof.Claims) (bool, []string, error) {
				for _, v := range c.Variables {
					asked = append(asked, fmt.Sprintf("%s %d %d", v.Ident, v.MaxObjects, v.MaxBytes))
				}
				for _, c := range c.Types {
					asked = append(asked, fmt.Sprintf("%q %d %d", c.Name, c.MaxObjects, c.MaxBytes))
					c.Objects, c.Bytes = 2, 32
					if !c.Is("*github.com/leakgate/leakgate/leakcheck.counted") || c.Is("*int") {
						t.Error("another type is meant")
					}
				}
				return true, []string{"built a twin"}, nil
			}
			ft, _ := w.assert(tt.opts...)
			if strings.Join(asked, ", ") != tt.asked || (w.snapshots == 0) != (tt.asked != "") {
				t.Fatalf("asked %s, %d scans: %s", asked, w.snapshots, ft.errorText())
			}
			if tt.asked == "" {
				return
			}
			r := readResult(t, filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout", "1"))
			b := r.Bounds[len(r.Bounds)-1]
			if r.Verdict != verdict.Pass || r.Method != verdict.ByTypes || len(r.Bounds) != len(tt.opts) || b.Verdict != verdict.Pass || b.Objects != 2 || b.Bytes != 32 {
				t.Errorf("%+v", r)
			}
			if log := strings.Join(ft.logs, "\n"); !strings.Contains(log, "built a twin") || !strings.Contains(log, "passed by types") {
				t.Error(log)
			}
		})
	}
}
