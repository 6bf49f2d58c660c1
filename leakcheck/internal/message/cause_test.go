package message_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
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

// A timer says when it is due.
func TestDueText(t *testing.T) {
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

// Branches of one family are left by one forgotten call.
func TestFamilyOf(t *testing.T) {
	special := func(name string) *refscan.Node {
		n := node(name, "*os.Process", 1, 64)
		n.Root = &refscan.RootInfo{Kind: refscan.RootCleanup}
		return n
	}
	for _, tt := range []struct {
		root *refscan.Node
		want string
	}{
		{global(node("net/http.DefaultTransport", "*net/http.Transport", 1, 8), "", 0), "connection"},
		{global(node("runtime.reflectOffs", "struct {}", 1, 8), "", 0), "reflect"},
		{global(node("syscall.envs", "[]string", 1, 8), "", 0), "environment"},
		{global(node("syscall.env", "map[string]int", 1, 8), "", 0), "environment"},
		{global(node("syscall.mapper", "struct {}", 1, 8), "", 0), ""},
		{global(node("example.com/app.ctx", "*context.cancelCtx", 1, 8, node("children", "map[context.canceler]struct {}", 1, 8, node("$mapkey", "*context.timerCtx", 1, 8))), "", 0), "context"},
		{global(node("example.com/app.ctx", "*context.cancelCtx", 1, 8, node("mu", "*context.timerCtx", 1, 8)), "", 0), ""},
		{special("cleanup(*os.Process)"), "command"},
		{special("cleanup(*os.File)"), ""},
		{node("timer(context.WithTimeout)", "*context.timerCtx", 1, 8), "context"},
		{node("timer(example.com/app.expire)", "*time.Timer", 1, 8), ""},
	} {
		b := message.Deepest(tree.GrowForest(report(tt.root))[0])
		assert.Equal(t, tt.want, message.FamilyOf(b.Line()), b.Path)
	}
}

func TestRegistry(t *testing.T) {
	for root, want := range map[string][]string{
		"os/signal.handlers": {"os/signal.Notify"}, "encoding/gob.userTypeCache": {"encoding/gob."}, "syscall.envs": {"os.Setenv"}, "example.com/app.handlers": nil,
	} {
		name, by := message.Registry(&tree.Branch{Name: root})
		assert.Equal(t, want, by, root)
		assert.Equal(t, want != nil, name == root, root)
	}
}

// A message has the cause of the first branch of a trace that has one.
func TestUsualCause(t *testing.T) {
	ctx := global(node("example.com/app.ctx", "*context.cancelCtx", 1, 64,
		node("children", "map[context.canceler]struct {}", 1, 64, node("$mapkey", "*context.afterFuncCtx", 9, 999, node("f", "func()", 9, 9)))), "", 0)
	env := &environ.Environment{ModulePath: "example.com/app"}
	tr := tree.TraceTo(message.Deepest(tree.GrowForest(report(ctx))[0]), false, tree.BytesOf)
	assert.Equal(t, []string{message.CausePrefix + "the stop function that context.AfterFunc returned is not called, and its context is not done"}, message.UsualCause(tr, env))
	assert.Nil(t, message.UsualCause(tree.TraceTo(tree.GrowForest(report(sessions(3)))[0], true, tree.BytesOf), env))
	ticker := node("timer(example.com/app.poll)", "*time.Timer", 1, 64)
	ticker.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Period: time.Second}
	assert.Nil(t, message.UsualCause(tree.TraceTo(tree.GrowForest(report(ticker))[0], true, tree.BytesOf), env), "a ticker is in use")
}
