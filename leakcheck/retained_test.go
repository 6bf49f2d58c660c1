package leakcheck

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"weak"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
)

func TestBounds(t *testing.T) {
	srv := func(conns int64) *refscan.Node {
		return global(node("example.com/app.srv", "", 0, 0,
			node("state.conns", "[]*example.com/app.conn", 1, 1024,
				node("[0]", "*example.com/app.conn", 1, 64, node("buf", "[]uint8", 1, 4096)),
				node("[1]", "*example.com/app.conn", conns-1, 64*(conns-1), node("buf", "[]uint8", conns-1, 4096*(conns-1)))),
			node("hook", "example.com/app.Session", 1, 96),
		), "/src/app/srv.go", 7)
	}
	untyped := node("blob", "*example.com/app.Session", 3, 300)
	untyped.UntypedObjects, untyped.UntypedBytes = 2, 200
	pool := frame(node("example.com/app.serve.c", "*example.com/app.conn", 2, 128),
		refscan.RootInfo{Func: "example.com/app.serve", Goroutine: "example.com/app.(*pool).run", CreatedBy: "example.com/app.New"})
	library := global(node("other.org/lib.data", "map[int]int", 1, 48), "", 0)
	everything := report(sessions(100), srv(10), pool, library,
		global(node("example.com/app.debug", "", 0, 0, untyped), "", 0))

	pass := [][]Option{
		{Root("app.sessions").MaxObjects(251).MaxBytes(8192 + 9600 + 32000 + 800)},
		{Root("app.sessions").MaxBytes(1 << 20).MaxObjects(251)},
		{Root("app.cache").None()},                                 // the root exists, and holds nothing
		{TypeNamed("*app.Handler").None(), Type[*func()]().None()}, // variables of such types
		{TypeNamed("func app.(*pool).run.func1").None()},
		{Root("other.org/lib.data").MaxObjects(1)},
		{Root("app.srv").MaxObjects(22)},
		{Root("app.(*pool).run").MaxObjects(2)}, // by the goroutine's entry function
		{Root("app.serve").MaxObjects(2)},
		{Path("app.srv.state.conns[*].buf").MaxObjects(10).MaxBytes(40960)},
		{Path("app.srv.state.conns[7]").MaxObjects(20)},
		{Path("app.srv.state").MaxObjects(21)}, // a struct on the way is no node
		{Path("app.srv.cons").None()},          // nothing is there
		{TypeNamed("app.Session").MaxObjects(102)},
		{TypeNamed("app.Session").MaxObjects(1), Scope("app"), Ignore("app.sessions", "a test's"), Ignore("app.debug", "x")},
		{Type[*fakeT]().None()},
		{Root("app.sessions").MaxObjects(251), Type[fakeT]().None(), Scope("example.com/app")},
	}
	for _, opts := range pass {
		w := newWorld(t, everything)
		ft, ok := w.assert(opts...)
		if !ok || len(ft.errors) > 0 || w.snapshots != 1 {
			t.Errorf("%v: want a pass at the first look, got %v in %d\n%s", opts, ok, w.snapshots, ft.errorText())
		}
	}

	fail := []struct {
		opts []Option
		part string
	}{
		{[]Option{Root("app.sessions").MaxObjects(250)}, "found 251 objects, 49.4 KiB: 1 object more than allowed"},
		{[]Option{Root("app.sessions").None().MaxBytes(50591)}, "50591"},
		{[]Option{Root("app.sessions").None()}, "found 251 objects, 49.4 KiB\n"},
		{[]Option{Path("app.srv.state.conns[*].buf").MaxObjects(9)}, "found 10 objects, 40.0 KiB: 1 object more"},
		{[]Option{Path("app.srv.state.conns").MaxBytes(1).MaxObjects(1)}, "20 objects and 41.6 KiB more than allowed"},
		{[]Option{Path("app.srv.hook").None()}, "found 1 object, 96 B"},
		// boxed: 1, untyped: not counted
		{[]Option{TypeNamed("app.Session").MaxObjects(101)}, "found 102 objects"},
		{[]Option{TypeNamed("app.conn").MaxObjects(11)}, "found 12 objects"},
	}
	for _, tt := range fail {
		w := newWorld(t, everything)
		w.names.Types = append(w.names.Types, "example.com/app.conn")
		ft, ok := w.assert(tt.opts...)
		if ok || len(ft.errors) != 1 || !strings.Contains(ft.errorText(), tt.part) || w.snapshots != 3 {
			t.Errorf("%v: want %q in the third look, got %v in %d\n%s", tt.opts, tt.part, ok, w.snapshots, ft.errorText())
		}
	}
}

func TestMisuse(t *testing.T) {
	tests := []struct {
		opts []Option
		want string
	}{
		{[]Option{Root("app.sesions").None()}, `leakcheck: Root("app.sesions").None(): the program has no package variable or function of that name; did you mean example.com/app.sessions, other.org/app.sessions2?
    (the linker drops variables that nothing uses, the compiler the names of some in functions)`},
		{[]Option{Path("app.server.conns").None()}, "no package variable or function of that name"},
		{[]Option{TypeNamed("app.Sesion").None()}, `TypeNamed("app.Sesion").None(): the program has no such type; did you mean example.com/app.Session`},
		{[]Option{Root("").None()}, `Root(""): the pattern is empty`},
		{[]Option{Root(" app.x").None()}, "begins or ends with a space"},
		{[]Option{Bound{}}, "a zero Bound"},
		{[]Option{Selector{}.None()}, "a zero Bound"},
		{[]Option{nil}, "option 1 is nil"},
		{[]Option{Type[error]().None()}, "error is an interface, and no object has such a type"},
		{[]Option{Type[func(int) error]().None()}, "func(int) error is a function type, and no object has such a type: a closure has the type of its function; bound what holds it with Root or Path"},
		{[]Option{TypeNamed("app.Handler").None()}, `TypeNamed("app.Handler").None(): only function types and interfaces have such a name`},
		{[]Option{TypeNamed("app.*ndler").None()}, "bound what holds it with Root or Path"},
		{[]Option{TypeNamed("app.(*pool).run").None()}, "the program has no such type"},
		{[]Option{TypeNamed("func app.run").None()}, "the program has no such type"},
		{[]Option{Scope("example.com/ap"), Root("app.sessions").MaxObjects(1000)}, `Scope("example.com/ap"): the program has no such package; did you mean example.com/app?`},
		{[]Option{Scope("runtime"), Root("app.sessions").None()}, "example.com/app.sessions lies outside of the Scope"},
		{[]Option{Since(nil)}, "Since(nil)"},
		{[]Option{Since(&Baseline{}), Since(&Baseline{})}, "given twice"},
	}
	for _, tt := range tests {
		w := newWorld(t, report(sessions(100)))
		ft, ok := w.assert(tt.opts...)
		if ok || len(ft.errors) != 1 || !strings.Contains(ft.errorText(), tt.want) || w.slept > 0 {
			t.Errorf("want %q, got %v\n%s", tt.want, ok, ft.errorText())
		}
	}
}

// A path by a field that no struct there has is a mistake, not a path at which nothing is retained.
func TestMisspeltFields(t *testing.T) {
	server := &debuginfo.MissingField{Name: "cons", Struct: "example.com/app.Server", Fields: []string{"conns", "pool", "pool.idle"}}
	promoted := &debuginfo.MissingField{Path: ".state", Name: "idle", Struct: "struct { example.com/app.pool }", Fields: server.Fields}
	library := &debuginfo.MissingField{Name: "conns", Struct: "sync/atomic.Pointer[example.com/app.Server]", Fields: []string{"v"}}
	unlike := &debuginfo.MissingField{Name: "sessions", Struct: "example.com/app.Server", Fields: []string{"a", "b"}}
	for _, tt := range []struct {
		path    string
		missing map[string]*debuginfo.MissingField
		roots   []string
		want    string // "" if it is no mistake
	}{
		{"app.srv.cons[*].buf", map[string]*debuginfo.MissingField{"example.com/app.srv.cons[*].buf": server}, nil, "app.srv has no field cons; did you mean app.srv.conns?"},
		{"app.srv.cons[3].buf", map[string]*debuginfo.MissingField{"example.com/app.srv.cons[*].buf": server}, nil, "app.srv has no field cons; did you mean app.srv.conns?"},
		{"app.srv.cons[*].*", map[string]*debuginfo.MissingField{"example.com/app.srv.cons[*]": server}, nil, "app.srv has no field cons; did you mean app.srv.conns?"},
		{"app.srv.state.idle", map[string]*debuginfo.MissingField{"example.com/app.srv.state.idle": promoted}, nil, "app.srv.state has no field idle; did you mean app.srv.state.pool.idle?"},
		{"app.srv.sessions", map[string]*debuginfo.MissingField{"example.com/app.srv.sessions": unlike}, nil, "app.srv has no field sessions; its fields are: a, b"},
		{"app.srv.con*", map[string]*debuginfo.MissingField{"example.com/app.srv.con": server}, nil, ""},
		{"app.*.cons", map[string]*debuginfo.MissingField{"example.com/app.srv.cons": server}, nil, ""},
		{"app.srv.conns", map[string]*debuginfo.MissingField{"example.com/app.srv.conns": library}, nil, ""},
		{"app.srv.cons", nil, nil, ""},
		{"app.srv.cons", map[string]*debuginfo.MissingField{"example.com/app.srv.cons": server}, []string{"other.org/app.srv"}, ""},
		{"app.srv.cons", map[string]*debuginfo.MissingField{"example.com/app.srv.cons": server}, []string{"other.org/app.srv.cons"}, ""},
		{"app.srv.cons", map[string]*debuginfo.MissingField{"example.com/app.srv.cons": server, "other.org/app.srv.cons": server}, []string{"other.org/app.srv"}, "app.srv has no field cons"},
	} {
		w := newWorld(t, report(sessions(100)))
		w.names.Missing = tt.missing
		w.names.Roots = slices.Concat(w.names.Roots, tt.roots)
		ft, ok := w.assert(Path(tt.path).None())
		if tt.want == "" && !ok || tt.want != "" && (len(ft.errors) != 1 || !strings.Contains(ft.errorText(), fmt.Sprintf("leakcheck: Path(%q).None(): %s", tt.path, tt.want))) {
			t.Errorf("%s: want %q, got %v\n%s", tt.path, tt.want, ok, ft.errorText())
		}
	}
	// What is there is no mistake.
	w := newWorld(t, report(sessions(100)))
	w.names.Missing = map[string]*debuginfo.MissingField{"example.com/app.sessions[*].buf": server}
	if ft, ok := w.assert(Path("app.sessions[*].buf").MaxObjects(1000)); !ok {
		t.Error(ft.errorText())
	}
}

// An assertion without a test to fail must not pass.
func TestNilTestPanics(t *testing.T) {
	for _, none := range []TestingT{nil, (*testing.T)(nil), (*fakeT)(nil)} {
		for verb, call := range map[string]func(){
			"AssertRetained":  func() { AssertRetained(none) },
			"AssertNoGrowth":  func() { AssertNoGrowth(none, func() {}) },
			"TakeBaseline":    func() { TakeBaseline(none) },
			"ExpectCollected": func() { ExpectCollected(none, new(int), "") },
			"AssertCollected": func() { AssertCollected(none, weak.Pointer[int]{}, "") },
		} {
			func() {
				defer func() {
					want := "leakcheck: " + verb + ": t is nil; pass the *testing.T of the test that is running"
					if e := recover(); e != want {
						t.Errorf("%s(%T): %v", verb, none, e)
					}
				}()
				call()
			}()
		}
	}
}

func TestUnknown(t *testing.T) {
	unsupported := &refscan.UnavailableError{Cause: "snapshots need linux", Remedy: "run the tests on linux", Err: errors.ErrUnsupported}
	refused := &refscan.UnavailableError{Cause: "the process cannot be frozen", Remedy: "allow the call", Err: syscall.ENOSYS}
	noToolchain := &refscan.UnavailableError{Cause: "the test binary has no debug information", Remedy: "build with -ldflags=-w=0"}
	badAudit := report(sessions(10))
	badAudit.Totals.MissedBytes = badAudit.Totals.LiveBytes/200 + observe.AuditFloor*int64(runtime.GOMAXPROCS(0)) + 1
	tests := []struct {
		name                string
		err                 error
		reports             []*refscan.Report
		ci, strict          bool
		failed, skipped, ok bool
		part                string
	}{
		{name: "unsupported", err: unsupported, skipped: true, ok: true, part: "run the tests on linux"},
		{name: "unsupported in CI", err: unsupported, ci: true, skipped: true, ok: true, part: "not a pass"},
		{name: "unsupported, strict", err: unsupported, strict: true, failed: true, part: "cause:  snapshots need linux: unsupported"},
		{name: "a call that the system refuses", err: refused, ok: true, part: "It fails in CI"},
		{name: "a call that the system refuses, in CI", err: refused, ci: true, failed: true, part: "remedy: allow the call"},
		{name: "no debug information", err: noToolchain, ok: true, part: "UNKNOWN: could not tell what is retained\n    cause:  the test binary has no debug information\n    remedy: build with -ldflags=-w=0"},
		{name: "in CI", err: noToolchain, ci: true, failed: true, part: "UNKNOWN"},
		{name: "strict", err: noToolchain, strict: true, failed: true, part: "UNKNOWN"},
		{name: "wrapped", err: fmt.Errorf("twin: %w", noToolchain), strict: true, failed: true, part: "remedy: build with"},
		{name: "audit", reports: []*refscan.Report{badAudit}, ci: true, failed: true, part: "does not agree with the garbage collector"},
		{name: "audit off once", reports: []*refscan.Report{badAudit, report(sessions(10))}, ci: true, ok: true},
		{name: "empty report", reports: []*refscan.Report{{}}, ci: true, failed: true, part: "no live memory at all"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.reports...)
			w.err, w.env.Ci, w.env.Strict = tt.err, tt.ci, tt.strict
			ft, ok := w.assert(Root("app.sessions").MaxObjects(100))
			if ok != tt.ok || (len(ft.errors) > 0) != tt.failed || (ft.skipped != "") != tt.skipped {
				t.Errorf("ok %v, errors %q, skipped %q", ok, ft.errors, ft.skipped)
			}
			if said := ft.errorText() + ft.skipped + strings.Join(ft.logs, "\n"); !strings.Contains(said, tt.part) {
				t.Errorf("no %q in:\n%s", tt.part, said)
			}
		})
	}
}

func TestRetries(t *testing.T) {
	w := newWorld(t, report(sessions(5)), report(sessions(0)))
	ft, ok := w.assert(Root("app.sessions").MaxObjects(1))
	if !ok || w.snapshots != 2 || w.slept != assertion.RetryWaits[0] {
		t.Errorf("ok %v after %d snapshots and %v", ok, w.snapshots, w.slept)
	}
	if !ft.logged(`holds in snapshot 2; not so at first: Root("app.sessions").MaxObjects(1): found 13 objects`) {
		t.Errorf("logs: %q", ft.logs)
	}

	// Only bounds that the last snapshot breaks count.
	w = newWorld(t, report(sessions(5)), report(sessions(9)), report(sessions(7)))
	ft, ok = w.assert(Root("app.sessions").MaxObjects(1))
	if ok || w.snapshots != 3 || w.slept != assertion.RetryWaits[0]+assertion.RetryWaits[1] || !strings.Contains(ft.errorText(), "found 18 objects") {
		t.Errorf("ok %v after %d snapshots and %v:\n%s", ok, w.snapshots, w.slept, ft.errorText())
	}
}

func TestIgnore(t *testing.T) {
	w := newWorld(t, report(sessions(5)))
	ft, ok := w.assert(Root("app.sessions").MaxObjects(8), Ignore("app.sessions[*].buf", "pooled"), Ignore("app.debug", "gone since v2"))
	if !ok {
		t.Error(ft.errorText())
	}
	for _, part := range []string{"ignored: 5 objects, 1.6 KiB at app.sessions[*].buf: pooled", `Ignore("app.debug") matched nothing; it can be deleted`} {
		if !ft.logged(part) {
			t.Errorf("no %q in %q", part, ft.logs)
		}
	}
	ft, _ = newWorld(t, report(sessions(5))).assert(Root("app.sessions").MaxObjects(7), Ignore("app.sessions[*].buf", "pooled"))
	if !strings.Contains(ft.errorText(), "found 8 objects") || !strings.Contains(ft.errorText(), "ignored: 5 objects") {
		t.Error(ft.errorText())
	}
}

func TestSince(t *testing.T) {
	w := newWorld(t, report(sessions(5)), report(sessions(7)))
	base := &Baseline{*w.TakeBaseline(&fakeT{}, nil)}
	if ft, ok := w.assert(Root("app.sessions").MaxObjects(5), TypeNamed("app.Session").MaxObjects(2), Since(base)); !ok {
		t.Error(ft.errorText())
	}
	ft, ok := w.assert(TypeNamed("app.Session").MaxObjects(1), Since(base))
	if ok || !strings.Contains(ft.errorText(), "found 2 objects, 192 B: 1 object more") {
		t.Error(ft.errorText())
	}
	w.reports = []*refscan.Report{report(sessions(3))}
	if ft, ok := w.assert(Root("app.sessions").None(), Since(base)); !ok {
		t.Error("less than before:", ft.errorText())
	}
	w.err = errors.New("fork: no memory")
	if b := w.TakeBaseline(&fakeT{}, nil); b.Unknown == nil {
		t.Error("the baseline is known")
	} else if ft, ok := w.assert(Root("app.sessions").None(), Since(&Baseline{*b})); !ok || !ft.logged("fork: no memory") {
		t.Errorf("%v %q", ok, ft.logs)
	}
}

func TestOwnMemoryDoesNotCount(t *testing.T) {
	own := frame(node("example.com/app.TestLogout.b", "*github.com/leakgate/leakgate/leakcheck.Baseline", 1, 64,
		node("forest", "[]*github.com/leakgate/leakgate/leakcheck.branch", 1, 640, node("[0]", "*example.com/app.Session", 9, 900))),
		refscan.RootInfo{Func: "example.com/app.TestLogout", Test: true, Caller: true})
	table := global(node("github.com/leakgate/leakgate/leakcheck.comparisons", "", 0, 0, node("of", "map[string]int", 1, 48)), "", 0)
	w := newWorld(t, report(own, table))
	if ft, ok := w.assert(TypeNamed("app.Session").None(), Type[map[string]int]().None()); !ok {
		t.Error(ft.errorText())
	}
}

// Objects whose type is not known may be of a bounded type. The log of the pass names them.
func TestTypeBoundBesideUnknownTypes(t *testing.T) {
	for _, objects := range []int64{0, 13} {
		slot := frame(node("example.com/app.TestX.$temporary", "", objects, 112*objects), refscan.RootInfo{Func: "example.com/app.TestX", Test: true})
		slot.UntypedObjects, slot.UntypedBytes = objects, 112*objects
		w := newWorld(t, report(slot, sessions(0)))
		ft, ok := w.assert(TypeNamed("app.Session").None())
		const note = `TypeNamed("app.Session").None(): could not tell the type of 13 objects (1.4 KiB) at example.com/app.TestX.$temporary, which does not count`
		if !ok || ft.logged(note) != (objects > 0) {
			t.Errorf("%d objects: passed is %v\n%s\n%v", objects, ok, ft.errorText(), ft.logs)
		}
	}
}
