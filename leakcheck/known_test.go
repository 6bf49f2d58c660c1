package leakcheck

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/refscan"
)

func TestRetainers(t *testing.T) {
	streams := global(node("os.Stderr", "*os.File", 1, 8, node("file", "*os.file", 1, 96)), "", 0)
	ours := global(node("example.com/app.log", "*os.File", 2, 16), "", 0)
	mux := global(node("net/http.DefaultTransport", "*net/http.Transport", 1, 300,
		node("idleConn", "*net/http.persistConn", 2, 500, node("hook", "*example.com/app.Session", 1, 96))), "", 0)
	reader := frame(node("net/http.(*persistConn).readLoop.pc", "*net/http.persistConn", 1, 500), refscan.RootInfo{Func: "net/http.(*persistConn).readLoop"})

	tests := []struct {
		name   string
		bound  Bound
		opts   []Option
		passes bool
		logs   string
	}{
		{"standard streams", TypeNamed("os.File").MaxObjects(2), nil, true, "kept on purpose, not counted: 1 object, 8 B at os.Stderr (the process's standard streams)"},
		{"the program's files", TypeNamed("os.File").None(), nil, false, ""},
		{"by root", Root("os.Stderr").None(), nil, false, ""},
		{"idle connections, and one that a goroutine holds", TypeNamed("net/http.persistConn").None(), nil, false, "2 objects, 500 B at net/http.DefaultTransport.idleConn"},
		{"the program's types below them", TypeNamed("app.Session").None(), nil, false, ""},
		{"asked for", TypeNamed("os.File").None(), []Option{Scope("os")}, false, ""},
	}
	for _, tt := range tests {
		w := newWorld(t, report(streams, ours, mux, reader))
		w.names = reporttest.Names{Types: []string{"*os.File", "*net/http.persistConn", "*example.com/app.Session"}, Roots: []string{"os.Stderr"}}
		ft := &fakeT{name: t.Name()}
		ok := w.AssertRetained(ft, environ.CallSite(0), newRequest(append(tt.opts, tt.bound)))
		if ok != tt.passes || !ft.logged(tt.logs) {
			t.Errorf("%s: passed is %v\n%s\n%s", tt.name, ok, ft.errorText(), strings.Join(ft.logs, "\n"))
		}
	}
}
