package leakcheck

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// The stacks are those of real goroutines, which a test of http, database/sql, iter and others left
// behind.
func TestGoroutineCauses(t *testing.T) {
	isProgram := func(pkg string) bool { return strings.HasPrefix(pkg, "example.com/") }
	want := []string{
		"1 of context.(*cancelCtx).propagateCancel.func2, select: the cancel function of a context is not called",
		"1 of database/sql.(*DB).connectionOpener, select: a sql.DB is opened anew and not closed",
		"1 of database/sql.(*Rows).awaitDone, select: sql.Rows are not closed",
		"1 of database/sql.(*Tx).awaitDone, chan receive: a sql.Tx is neither committed nor rolled back",
		"1 of example.com/shop.(*hub).wait (from sync.(*WaitGroup).Go.func1), chan receive: ",
		"1 of example.com/shop.(*hub).wait, chan receive: ",
		"1 of example.com/shop.TestDump (from testing.tRunner), running: ",
		"1 of example.com/shop.TestDump.func1 (from net/http.(*conn).serve), chan receive: a handler does not return",
		"1 of example.com/shop.TestDump.func2 (from sync.(*WaitGroup).Go.func1), chan receive: ",
		"1 of example.com/shop.accept, IO wait: a net.Listener is not closed",
		"1 of example.com/shop.numbers (from iter.Pull[...].func1), coroutine: the stop function that iter.Pull returned is not called",
		"1 of io.(*PipeWriter).Write, select: the reader of an io.Pipe is neither read to its end nor closed",
		"1 of io.Copy, select: the writer of an io.Pipe is not closed",
		"1 of iter.Pull[...], coroutine: the stop function that iter.Pull returned is not called",
		"1 of main.main, chan receive: ",
		"2 of net/http.(*conn).serve, IO wait: clients keep their connections to an http.Server open",
		"1 of net/http.(*persistConn).readLoop, IO wait: " + pile.IdleConnections,
		"1 of net/http.(*persistConn).readLoop, select: the Body of a response is not closed, so its connection cannot be used again",
		"2 of net/http.(*persistConn).writeLoop, select: ",
		"1 of net/http.Serve, semacquire: ", // another goroutine has the same listener
		"1 of net/http/httptest.(*Server).goServe.func1, IO wait: an httptest.Server is not closed",
		"1 of os/exec.(*Cmd).Start.func2, IO wait: an exec.Cmd is started and Wait is not called, or its command does not end",
		"1 of os/exec.(*Cmd).watchCtx, select: an exec.Cmd is started and Wait is not called, or its command does not end",
		"1 of os/signal.NotifyContext.func1, select: the stop function that signal.NotifyContext returned is not called",
		"1 of os/signal.loop, syscall: ",
	}
	for _, version := range []string{"go1.26", "go1.27"} {
		text, err := os.ReadFile("testdata/goroutines/" + version + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
			// one by one: two of one origin do different things
			for o, g := range pile.Parse(block, isProgram) {
				line := o.Entry
				if o.Started != "" {
					line += " (from " + o.Started + ")"
				}
				line += ", " + g.State + ": "
				if i := g.Cause(&o, isProgram); i >= 0 {
					line += pile.Causes[i].Text
				}
				got = append(got, line)
			}
		}
		slices.Sort(got)
		var counted []string
		for i := 0; i < len(got); {
			n := 1
			for i+n < len(got) && got[i+n] == got[i] {
				n++
			}
			counted = append(counted, fmt.Sprintf("%d of %s", n, got[i]))
			i += n
		}
		if !slices.Equal(counted, want) {
			t.Errorf("%s:\n%s\nwant\n%s", version, strings.Join(counted, "\n"), strings.Join(want, "\n"))
		}
		// The place is the program's if the stack has one.
		for o, g := range pile.Parse(string(text), isProgram) {
			at, via := g.Place(isProgram)
			switch o.Entry {
			case "example.com/shop.accept":
				if at.Function != "example.com/shop.accept" || via != "net.(*TCPListener).Accept" {
					t.Errorf("%s: %v is at %v via %q", version, o, at, via)
				}
			case "example.com/shop.TestDump.func1":
				if at.Function != "example.com/shop.(*hub).wait" || via != "" {
					t.Errorf("%s: %v is at %v via %q", version, o, at, via)
				}
			}
		}
	}
}

func TestHeapCauses(t *testing.T) {
	leaf := func(root *refscan.Node, path ...string) []*tree.Branch {
		b := tree.GrowForest(report(root))[0]
		for _, name := range path {
			for _, c := range b.Children {
				if c.Name == name {
					b = c
				}
			}
		}
		return b.Line()
	}
	variable := func(name, typ string, children ...*refscan.Node) *refscan.Node {
		return global(node(name, typ, 1, 64, children...), "", 0)
	}
	recursive := func(name, typ, recursion string) *refscan.Node {
		n := variable(name, typ)
		n.Recursion = recursion
		return n
	}
	root := func(kind refscan.RootKind, name, typ string, children ...*refscan.Node) *refscan.Node {
		n := node(name, typ, 1, 64, children...)
		n.Root = &refscan.RootInfo{Kind: kind}
		return n
	}
	const cancel = "the cancel function of a context is not called"
	for _, tt := range []struct {
		name string
		line []*tree.Branch
		want string
	}{
		{
			"a child of a context", leaf(variable("example.com/app.ctx", "*context.cancelCtx",
				node("children", "map[context.canceler]struct {}", 1, 64, node("[$key]", "*context.timerCtx", 9, 999))), "children", "[$key]"), cancel,
		},
		{"a child of its own type", leaf(recursive("example.com/app.ctx", "*context.cancelCtx", "children[$key]")), cancel},
		{
			"an AfterFunc", leaf(variable("example.com/app.ctx", "*context.cancelCtx",
				node("children", "map[context.canceler]struct {}", 1, 64, node("[$key]", "*context.afterFuncCtx", 9, 999))), "children", "[$key]"),
			"the stop function that context.AfterFunc returned is not called, and its context is not done",
		},
		{"contexts in a map of the program's", leaf(variable("example.com/app.m", "map[string]context.Context", node("[*]", "*context.cancelCtx", 9, 999)), "[*]"), ""},
		{"a chain of contexts", leaf(recursive("example.com/app.ctx", "*context.valueCtx", "Context")), ""},
		{"a channel for signals", leaf(variable("os/signal.handlers", "struct {}", node("m", "map", 1, 64, node("[$key]", "chan os.Signal", 9, 99))), "m", "[$key]"), "signal.Stop is not called for a channel that was given to signal.Notify"},
		{"a cgo handle", leaf(variable("runtime/cgo.handles", "sync.Map", node("[*]", "*example.com/app.T", 9, 99)), "[*]"), "Delete is not called for a cgo.Handle"},
		{"a template on a shared one", leaf(recursive("example.com/app.page", "*html/template.Template", "nameSpace.set[*]")), "New on a template that is shared adds to its set of templates: Clone it first"},
		{"the same of package text", leaf(variable("example.com/app.srv", "*example.com/app.Server", node("pages.common.tmpl", "map", 1, 8, node("[*]", "*text/template.Template", 9, 99))), "pages.common.tmpl", "[*]"), "New on a template that is shared adds to its set of templates: Clone it first"},
		{"templates in a map of the program's", leaf(variable("example.com/app.m", "map[string]*text/template.Template", node("[*]", "*text/template.Template", 9, 999)), "[*]"), ""},
		{"deferred calls", leaf(frame(node("example.com/app.loop.$defer", "func example.com/app.loop.deferwrap1", 9, 99), refscan.RootInfo{Func: "example.com/app.loop"})), "a defer statement in a loop: the calls pile up until example.com/app.loop returns"},
		{"what a deferred call holds", leaf(frame(node("example.com/app.loop.$defer", "func example.com/app.loop.func1", 1, 9, node("all", "[]int", 9, 99)), refscan.RootInfo{Func: "example.com/app.loop"}), "all"), ""},
		{"records of deferred calls", leaf(root(refscan.RootOther, "goroutine example.com/app.loop", "*runtime._defer")), "a defer statement in a loop: the calls pile up until the function returns"},
		{"a finalizer sets itself again", leaf(root(refscan.RootFinalizer, "finalizer(*example.com/app.T)", "*example.com/app.T")), "a finalizer that sets itself again keeps its object"},
		{"a finalizer's object reaches itself through another", leaf(root(refscan.RootFinalizer, "finalizer(*example.com/app.T)", "*example.com/app.T", node("other", "*example.com/app.U", 9, 9, node("back", "*example.com/app.T", 9, 9))), "other", "back"), "a finalizer is never run for an object that can be reached from itself"},
		{"a finalizer's function refers to its object", leaf(root(refscan.RootFinalizer, "finalizer(*example.com/app.T)", "", node("$fn", "func()", 9, 9, node("t", "*example.com/app.T", 9, 9))), "$fn", "t"), "a finalizer is never run for an object that can be reached from itself"},
		{"it reaches itself beside the line", leaf(root(refscan.RootFinalizer, "finalizer(*example.com/app.T)", "", node("data", "[]uint8", 9, 999), node("other", "*example.com/app.T", 9, 9)), "data"), "a finalizer is never run for an object that can be reached from itself"},
		{"it reaches others only", leaf(root(refscan.RootFinalizer, "finalizer(*example.com/app.T)", "*example.com/app.U")), ""},
		{
			"a cleanup's argument reaches its object", leaf(root(refscan.RootCleanup, "cleanup(*example.com/app.T)", "",
				node("$arg", "*[]*example.com/app.T", 9, 9, node("[*]", "*example.com/app.T", 9, 9))), "$arg"),
			"a cleanup is never run for an object that can be reached from the cleanup's function or argument",
		},
		{"a statement", leaf(variable("example.com/app.db", "*database/sql.DB", node("dep", "map", 1, 8, node("[$key]", "*database/sql.Stmt", 9, 99))), "dep", "[$key]"), "a sql.Stmt is not closed"},
		{"the timer of a context", leaf(root(refscan.RootTimer, "timer(context.WithTimeout)", "*context.timerCtx")), cancel},
		{"a timer of the program's", leaf(root(refscan.RootTimer, "timer(example.com/app.(*Session).expire)", "*time.Timer")), "Stop is not called for the Timer that time.AfterFunc returned"},
		{"the timer of a deadline", leaf(root(refscan.RootTimer, "timer(net.(*conn).SetDeadline)", "")), "a net.Conn with a deadline is not closed"},
		{"a timer with a channel", leaf(root(refscan.RootTimer, "timer(time.After)", "chan time.Time")), ""},
		{"a variable of the environment", leaf(variable("syscall.env", "map[string]int", node("[$key]", "string", 9, 99)), "[$key]"), "os.Setenv is called with a new name each time, and os.Unsetenv is not"},
		{"types for gob", leaf(variable("encoding/gob.userTypeCache", "sync.Map", node("[*]", "*encoding/gob.userTypeInfo", 9, 99)), "[*]"), "package gob is given a new type each time, and keeps what it knows of types for ever"},
		{"a template in another variable", leaf(variable("example.com/app.page", "*html/template.Template")), ""},
		{"a map", leaf(sessions(9), "[*]"), ""},
	} {
		if got := message.HeapCause(tt.line, func(pkg string) bool { return strings.HasPrefix(pkg, "example.com/") }); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A timer that holds objects says when it is due, and what usually keeps it pending.
func TestTimersInMessages(t *testing.T) {
	contexts := func(n int64) *refscan.Node {
		root := node("timer(context.WithTimeout)", "*context.timerCtx", n, 112*n, node("timer", "*time.Timer", n, 112*n))
		root.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: "context", Timers: n, DueFirst: 59*time.Minute + 58*time.Second, DueLast: 59*time.Minute + 58*time.Second + time.Millisecond}
		return root
	}
	w := newWorld(t, report(contexts(120)))
	w.names.types = append(w.names.types, "context.timerCtx")
	ft, ok := w.assert(TypeNamed("context.timerCtx").None())
	if ok {
		t.Fatal("passed")
	}
	wantInOrder(t, ft.errorText(), `
    found 120 objects, 13.1 KiB
    held by the timer timer(context.WithTimeout), due in 59m58s (120 pending)
    the usual cause: the cancel function of a context is not called

       objects       bytes
           120    13.1 KiB  timer(context.WithTimeout)  *context.timerCtx
`)
	ft, _, _ = newWorld(t, growing(contexts, 10, 20, 40, 80, 160)...).growth(nil, tenAndTen...)
	wantInOrder(t, ft.errorText(), `
+1.00 *context.timerCtx/op (+224 B/op) via timer(context.WithTimeout)
    the usual cause: the cancel function of a context is not called
`, "    held by the timer timer(context.WithTimeout), due in 59m58s (160 pending)\n")

	for info, want := range map[refscan.RootInfo]string{
		{}: "",
		{Timers: 1, DueFirst: -time.Second, DueLast: -time.Second}:                                 ", due in 0s",
		{Timers: 3, DueFirst: time.Minute, DueLast: time.Hour}:                                     ", due in 1m0s to 1h0m0s (3 pending)",
		{Timers: 1, DueFirst: 3 * time.Second, DueLast: 3 * time.Second, Period: 10 * time.Second}: ", due in 3s, every 10s",
	} {
		if got := message.DueText(&info); got != want {
			t.Errorf("%+v: %q, want %q", info, got, want)
		}
	}
}
