package leakcheck

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/refscan"
)

// A messageTest is an assertion about a report, with the message of its failure.
type messageTest struct {
	name    string
	report  *refscan.Report
	options []Option
	want    string
}

func messageTests() []messageTest {
	worker := frame(node("example.com/app.(*pool).run.p", "*example.com/app.pool", 1, 64,
		node("queue", "chan *example.com/app.job", 1, 4096,
			node("[0]", "*example.com/app.job", 1, 48),
			node("[10+]", "*example.com/app.job", 499, 23952)),
	), refscan.RootInfo{
		Func: "example.com/app.(*pool).run", File: "/src/app/pool.go", Line: 40, Goroutine: "example.com/app.(*pool).run",
		CreatedBy: "example.com/app.newPool", CreatedAt: "/src/app/pool.go:22", Goroutines: 12,
	})
	own := frame(node("example.com/app.TestLogout.srv", "*example.com/app.Server", 1, 112,
		node("last", "*example.com/app.Session", 1, 96)),
		refscan.RootInfo{Func: "example.com/app.TestLogout", File: "/src/app/app_test.go", Line: 14, Test: true, Caller: true})
	other := frame(node("example.com/app.TestOther.s", "*example.com/app.Session", 1, 96),
		refscan.RootInfo{Func: "example.com/app.TestOther", File: "/src/app/other_test.go", Line: 9, Test: true})
	context := frame(node("example.com/app.TestLogout.ctx", "*context.cancelCtx", 3, 288),
		refscan.RootInfo{Func: "example.com/app.TestLogout", File: "/src/app/app_test.go", Line: 15, Test: true, Caller: true})
	context.Recursion = "children[$key]"

	return []messageTest{
		{
			"a root", report(sessions(100)),
			[]Option{Root("app.sessions").MaxObjects(1), Root("app.cache").None()},
			`
leakcheck: more is retained than the test allows (1 of 2 bounds)

Root("app.sessions").MaxObjects(1)
    found 251 objects, 49.4 KiB: 250 objects more than allowed
    held by the package variable example.com/app.sessions (registry.go:12)

       objects       bytes
             1     8.0 KiB  example.com/app.sessions  map[string]*app.Session, 100 entries
           100     9.4 KiB  └─ [*]  *app.Session
           100    31.2 KiB     └─ buf  []uint8

    besides:
            50       800 B  example.com/app.sessions[*].id  string

still so in the last of 3 snapshots: waiting does not help
for a profile of all that is retained: go test -artifacts, or leakgate run`,
		},
		{
			"a type in goroutines", report(worker),
			[]Option{TypeNamed("app.job").None(), Ignore("app.sessions", "another test's")},
			`
leakcheck: more is retained than the test allows

TypeNamed("app.job").None()
    found 500 objects, 23.4 KiB
    held by the variable p of example.com/app.(*pool).run (pool.go:40)
    in 12 goroutines, created by example.com/app.newPool (pool.go:22)

       objects       bytes
             1        64 B  example.com/app.(*pool).run.p  *app.pool
             1     4.0 KiB  └─ queue  chan *app.job
           500    23.4 KiB     └─ [*]  *app.job

still so in the last of 3 snapshots: waiting does not help
for a profile of all that is retained: go test -artifacts, or leakgate run`,
		},
		{
			"the test's own variable", report(own),
			[]Option{TypeNamed("app.Session").None()},
			`
leakcheck: more is retained than the test allows

TypeNamed("app.Session").None()
    found 1 object, 96 B
    held by your test itself: the variable srv of example.com/app.TestLogout (app_test.go:14)
    it is used after this assertion, so it is still alive: assert after its last use, or use it in a function of its own

       objects       bytes
             1       112 B  example.com/app.TestLogout.srv  *app.Server
             1        96 B  └─ last  *app.Session

still so in the last of 3 snapshots: waiting does not help
for a profile of all that is retained: go test -artifacts, or leakgate run`,
		},
		{
			"a context of the test", report(context),
			[]Option{TypeNamed("context.cancelCtx").MaxObjects(1)},
			`
leakcheck: more is retained than the test allows

TypeNamed("context.cancelCtx").MaxObjects(1)
    found 3 objects, 288 B: 2 objects more than allowed
    held by a context of a test function that is still running: the variable ctx of example.com/app.TestLogout (app_test.go:15)
    if it is t.Context(), it is cancelled when the test ends; its children stay until then, unless their cancel functions are called
    the usual cause: the cancel function of a context is not called

       objects       bytes
             3       288 B  example.com/app.TestLogout.ctx  *context.cancelCtx
                            └─ children[$key]  *context.cancelCtx, counted above

still so in the last of 3 snapshots: waiting does not help
for a profile of all that is retained: go test -artifacts, or leakgate run`,
		},
		{
			"another test's variable, bytes", report(other),
			[]Option{TypeNamed("app.Session").MaxBytes(90)},
			`
leakcheck: more is retained than the test allows

TypeNamed("app.Session").MaxBytes(90)
    found 1 object, 96 B: 6 B more than allowed
    held by a test function that is still running: the variable s of example.com/app.TestOther (other_test.go:9)
    tests that run at the same time share one process: narrow the assertion with Scope or Since, or run this test alone

       objects       bytes
             1        96 B  example.com/app.TestOther.s  *app.Session

still so in the last of 3 snapshots: waiting does not help
for a profile of all that is retained: go test -artifacts, or leakgate run`,
		},
	}
}

func TestFailureMessages(t *testing.T) {
	for _, tt := range messageTests() {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.report)
			w.env.Dir = "/src/app"
			w.names.Types = append(w.names.Types, "example.com/app.job", "context.cancelCtx")
			ft, ok := w.assert(tt.options...)
			if ok {
				t.Error("the assertion passed")
			}
			wantText(t, "message", ft.errorText(), tt.want)
		})
	}
}

func TestLongMessageIsCut(t *testing.T) {
	deep := node("leaf", "*example.com/app.Session", 7, 700)
	for i := range 40 {
		deep = node(fmt.Sprintf("next%d", i), "*example.com/app.link", 1, 16, deep)
	}
	deep.Name = "example.com/app.cache"
	w := newWorld(t, report(global(deep, "/src/app/cache.go", 3), sessions(10)))
	w.env.Dir = "/src/app"
	ft, _ := w.assert(Type[int]().None(), Root("app.cache").MaxObjects(1), Root("app.sessions").None(), Root("app.*").None())
	lines := strings.Split(ft.errorText(), "\n")
	if len(lines) > message.MaxMessageLines {
		t.Errorf("%d lines:\n%s", len(lines), ft.errorText())
	}
	for _, part := range []string{"(3 of 4 bounds)", "cache.go:3", "… 27 edges more", "leaf  *app.Session", `Root("app.*").None()`, "for a profile"} {
		if !strings.Contains(ft.errorText(), part) {
			t.Errorf("no %q in:\n%s", part, ft.errorText())
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 14000: "14,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := textfmt.Count(n); got != want {
			t.Errorf("count(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 9600: "9.4 KiB", 1023 << 10: "1.0 MiB", 5 << 30: "5.0 GiB"} {
		if got := textfmt.ByteCount(n); got != want {
			t.Errorf("byteCount(%d) = %s, want %s", n, got, want)
		}
	}
}
