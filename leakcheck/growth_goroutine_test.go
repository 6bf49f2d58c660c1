package leakcheck

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
)

// Goroutines that cannot be counted may pile up, so there is no pass.
func TestGoroutinesUncounted(t *testing.T) {
	counted := map[goroutine.Origin]goroutine.Pile{}
	for _, tt := range []struct {
		name     string
		sessions []int64
		at       []map[goroutine.Origin]goroutine.Pile
		want     string // in the failure
		logs     string
	}{
		{"at all", []int64{7}, []map[goroutine.Origin]goroutine.Pile{nil}, "UNKNOWN", ""},
		{"at the last snapshot", []int64{7}, []map[goroutine.Origin]goroutine.Pile{counted, nil}, "whether goroutines pile up is not known", ""},
		{"where something else grows", []int64{10, 20, 40, 80, 160}, []map[goroutine.Origin]goroutine.Pile{nil}, "+1.00 *app.Session/op", "goroutines were not counted: their stack traces are more than 64 MiB of text"},
		{"never", []int64{7}, []map[goroutine.Origin]goroutine.Pile{counted}, "", ""},
	} {
		w := newWorld(t, growing(sessions, tt.sessions...)...)
		w.env.Strict = true
		ft, ok, _ := w.growth(tt.at, tenAndTen...)
		if ok != (tt.want == "") || !strings.Contains(ft.errorText(), tt.want) || !ft.logged(tt.logs) {
			t.Errorf("%s: want %q and %q, passed is %v\n%s\n%s", tt.name, tt.want, tt.logs, ok, ft.errorText(), ft.logs)
		}
	}
}
