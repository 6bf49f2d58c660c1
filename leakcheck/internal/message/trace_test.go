package message_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

func TestTraceMarksSuspects(t *testing.T) {
	conn := node("$mapval", "*net.conn", 3, 96, node("fd", "*net.netFD", 3, 384, node("pfd", "[]uint8", 3, 3072)))
	fd := conn.Children[0]
	root := global(withElems(node("example.com/app.conns", "map[string]*net.conn", 1, 48, conn), 3), "/src/app/conns.go", 7)
	draw := func(grows int) string {
		deepest := tree.GrowForest(report(root))[0]
		for len(deepest.Children) > 0 {
			deepest = deepest.Children[0]
		}
		tr := tree.TraceTo(deepest, false, tree.BytesOf)
		if grows >= 0 {
			tr.Grows = tr.Branches[grows]
		}
		var marks []string
		for _, line := range message.Lines(tr)[1:] {
			marks = append(marks, strings.TrimSpace(line[strings.LastIndex(line, "  ")+1:]))
		}
		return strings.Join(marks, "|")
	}
	nothing := "map[string]*net.conn, 3 entries|*net.conn|*net.netFD|[]uint8"
	if got := draw(-1); got != nothing {
		t.Errorf("nothing is known: %s", got)
	}
	if got := draw(0); got != nothing {
		t.Errorf("the variable itself grows, no reference is suspect: %s", got)
	}
	if got, want := draw(1), "map[string]*net.conn, 3 entries|~|*net.netFD|[]uint8|"+message.SuspectLegend; got != want {
		t.Errorf("what the map refers to grows: %s", got)
	}
	fd.Ended, fd.EndedState = 2, "closed"
	if got, want := draw(-1), "map[string]*net.conn, 3 entries|*net.conn|*net.netFD, 2 of them closed|[]uint8"; got != want {
		t.Errorf("some are over: %s", got)
	}
	fd.Ended = 3
	if got, want := draw(-1), "map[string]*net.conn, 3 entries|~|~|[]uint8|"+message.SuspectLegend; got != want {
		t.Errorf("all are over: %s", got)
	}
	if got, want := draw(3), "map[string]*net.conn, 3 entries|~|~|[]uint8|"+message.SuspectLegend; got != want {
		t.Errorf("what grows hangs on what is over: %s", got)
	}
}

// A slice whose array holds more than its elements is marked so in the message, and that is the
// usual cause of its growth.
func TestBeyondTheLength(t *testing.T) {
	batch := func(beyond, objects, length int64) *tree.Branch {
		elem := node("[0]", "*example.com/app.Session", objects, 64*objects)
		elem.Beyond = beyond
		array := node("first", "[]*example.com/app.Session", 1, 8192, elem)
		if beyond > 0 {
			array.Len, array.Cap = length, 1024
		}
		return tree.GrowForest(report(global(node("example.com/app.theBatch", "*example.com/app.Batch", 1, 24, array), "", 0)))[0].Children[0]
	}
	const cause = "elements beyond the length are kept alive: clear them before s = s[:n] (clear, slices.Delete)"
	for _, c := range []struct {
		beyond, objects, length int64
		want, cause             string
	}{
		{999, 1000, 1, "  []*app.Session, len 1, cap 1,024; 999 of these lie beyond the length", cause},
		{2000, 2001, 1, "  []*app.Session, len 1, cap 1,024; 2,000 objects lie beyond the length", cause},
		{10, 1000, 990, "  []*app.Session, len 990, cap 1,024; 10 of these lie beyond the length", ""},
		{0, 1000, 1000, "  []*app.Session", ""},
	} {
		b := batch(c.beyond, c.objects, c.length)
		if got := message.Describe(b); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		for _, at := range []*tree.Branch{b, b.Children[0]} {
			if got := message.HeapCause(at.Line(), func(string) bool { return true }); got != c.cause {
				t.Errorf("%d of %d: the cause of %s is %q, want %q", c.beyond, c.objects, at.Path, got, c.cause)
			}
		}
	}
	before := tree.GrowForest(report(global(node("example.com/app.theBatch", "*example.com/app.Batch", 1, 24), "", 0)))
	now := tree.Forest{batch(999, 1000, 1).Parent}
	grown := now.Growth(before)[0].Children[0]
	if got := message.Describe(grown); !strings.HasSuffix(got, "999 of these lie beyond the length") {
		t.Errorf("of what grew: %q", got)
	}
	if got := message.Describe(now.Growth(now)[0].Children[0]); got != "  []*app.Session" {
		t.Errorf("of what did not grow: %q", got)
	}
}

// A value without a name is described by its contents.
func TestUnnamedSlots(t *testing.T) {
	held := func(typ string, children ...*refscan.Node) string {
		n := frame(node("example.com/app.TestX.$temporary", typ, 1, 8, children...), refscan.RootInfo{Func: "example.com/app.TestX", Test: true, Caller: true})
		return message.HeldBy(tree.GrowForest(report(n))[0], &environ.Environment{})[0]
	}
	for typ, want := range map[string]string{
		"func example.com/app.TestX.func1": "held by your test itself: the function example.com/app.TestX.func1, which example.com/app.TestX has deferred or passes on",
		"chan struct {}":                   "held by your test itself: a channel that example.com/app.TestX waits for (no variable has it any more)",
		"[]*example.com/app.Session":       "held by your test itself: a temporary value of example.com/app.TestX, such as what a deferred call or a closure refers to",
	} {
		if got := held(typ); got != want {
			t.Errorf("%s: %s", typ, got)
		}
	}
	want := "held by your test itself: a map of example.com/app.TestX (one that never leaves its function has no name on the stack)"
	for _, typ := range []string{"[]noalg.map.group[*example.com/app.Session]bool", "*map.table[string]int"} {
		if got := held("chan int", node("?", typ, 1, 4096)); got != want {
			t.Errorf("%s: %s", typ, got)
		}
	}
}

var env = &environ.Environment{Dir: "/src/app", PackagePath: "example.com/app", ModulePath: "example.com/app"}

// A message says in words what each kind of root is.
func TestHeldBy(t *testing.T) {
	root := func(kind refscan.RootKind, name, typ string) *refscan.Node {
		n := node(name, typ, 1, 64)
		n.Root = &refscan.RootInfo{Kind: kind}
		return n
	}
	test := func(name, typ string, children ...*refscan.Node) *refscan.Node {
		return frame(node(name, typ, 1, 64, children...), refscan.RootInfo{Func: "testing.tRunner", Test: true})
	}
	worker := func(name, in string) *refscan.Node {
		return frame(node(name, "*example.com/app.pool", 1, 64), refscan.RootInfo{
			Func: in, File: "/src/app/pool.go", Line: 40, Goroutine: "example.com/app.start", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/new.go:7", Goroutines: 3,
		})
	}
	for _, tt := range []struct {
		root *refscan.Node
		want []string
	}{
		{sessions(3), []string{"held by the package variable example.com/app.sessions (registry.go:12)"}},
		{root(refscan.RootTimer, "timer(app.Tick)", ""), []string{"held by the timer timer(app.Tick)"}},
		{root(refscan.RootFinalizer, "finalizer(*app.T)", ""), []string{"held by a finalizer (runtime.SetFinalizer): finalizer(*app.T)"}},
		{root(refscan.RootCleanup, "cleanup(*app.T)", ""), []string{"held by a cleanup (runtime.AddCleanup): cleanup(*app.T)"}},
		{root(refscan.RootNative, "libz", ""), []string{"held by memory of C code: libz"}},
		{root(refscan.RootNative, "lost", ""), []string{"no reference is left: lost"}},
		{root(refscan.RootOther, "goroutine app.loop", ""), []string{"held by the deferred calls of goroutine app.loop"}},
		{root(refscan.RootOther, "runtime.data", ""), []string{"held by runtime.data, which is not a variable of the program"}},
		{worker("example.com/app.run.p", "example.com/app.run"), []string{
			"held by the variable p of example.com/app.run (pool.go:40)", "in 3 goroutines started in example.com/app.start, created by example.com/app.New (new.go:7)",
		}},
		{worker("example.com/app.each.p", "example.com/app.run"), []string{
			"held by the variable p of example.com/app.each, inlined in example.com/app.run (pool.go:40)", "in 3 goroutines started in example.com/app.start, created by example.com/app.New (new.go:7)",
		}},
		{worker("example.com/app.run.p", "example.com/app.New.gowrap1"), []string{
			"held by the variable p of example.com/app.run (pool.go:40)", "in 3 goroutines started in example.com/app.start, created by example.com/app.New (new.go:7)",
		}},
		{worker("p", "example.com/app.run"), []string{
			"held by the variable p of example.com/app.run (pool.go:40)", "in 3 goroutines started in example.com/app.start, created by example.com/app.New (new.go:7)",
		}},
		{frame(node("example.com/app.run.$defer", "func()", 1, 8), refscan.RootInfo{Func: "example.com/app.run", Goroutine: "example.com/app.run"}), []string{
			"held by a deferred call of example.com/app.run", "in a goroutine",
		}},
		{frame(node("register", "*int", 1, 8), refscan.RootInfo{}), []string{"held by the variable register", "in a goroutine"}},
		{test("testing.tRunner.t", "*testing.T", node("common.ctx", "*context.cancelCtx", 1, 96, node("children", "map[context.canceler]struct {}", 1, 96))), []string{
			"held by the context of a test, t.Context(), which is cancelled when the test ends", "its children stay until then, unless their cancel functions are called",
		}},
		{test("testing.tRunner.t", "*testing.T", node("common.cleanups[0]", "func testing.(*common).Cleanup.func1", 1, 8, node("f", "func example.com/app.(*Server).Close-fm", 1, 16))), []string{
			"held by the function example.com/app.(*Server).Close, which t.Cleanup keeps until the test ends",
		}},
		{test("testing.tRunner.t", "*testing.T", node("common.cleanups[0]", "func testing.(*common).Cleanup.func1", 1, 8, node("x", "int", 1, 16))), []string{
			"held by a function, which t.Cleanup keeps until the test ends",
		}},
	} {
		b := message.Deepest(tree.GrowForest(report(tt.root))[0])
		assert.Equal(t, tt.want, message.HeldBy(b, env))
	}
	missed := tree.Missed(refscan.Totals{MissedObjects: 3, MissedBytes: 96})
	assert.Contains(t, message.HeldBy(missed, env)[0], "held by nothing that a snapshot shows")
}

// A variable of another test's function is named, unless something else is to blame.
func TestHeldByTest(t *testing.T) {
	held := func(name, typ string, info refscan.RootInfo, children ...*refscan.Node) string {
		info.Func = "example.com/app.TestX"
		return message.HeldByTest(message.Deepest(tree.GrowForest(report(frame(node(name, typ, 1, 8, children...), info)))[0]), env)
	}
	const name = "example.com/app.TestX.v"
	assert.Equal(t, "the variable v of example.com/app.TestX", held(name, "*int", refscan.RootInfo{Test: true}))
	assert.Empty(t, held(name, "*int", refscan.RootInfo{}))
	assert.Empty(t, held(name, "*int", refscan.RootInfo{Test: true, Caller: true}))
	assert.Empty(t, held(name, "*context.cancelCtx", refscan.RootInfo{Test: true}))
	assert.Empty(t, held(name, "*testing.T", refscan.RootInfo{Test: true}, node("common.ctx", "*context.cancelCtx", 1, 96)))
	assert.Empty(t, held(name, "*testing.T", refscan.RootInfo{Test: true}, node("common.cleanups[0]", "func testing.(*common).Cleanup.func1", 1, 8)))
}

// Fields and variables have the places that the debug information tells.
func TestDeclarations(t *testing.T) {
	declared := *env
	declared.Declared = func(name string) (string, int) {
		switch name {
		case "example.com/app.sessions", "example.com/app.run.$temporary":
			return "/src/app/app.go", 3
		case "example.com/app.Pool.conns":
			return "/src/app/pool.go", 17
		case "example.com/app.fixture.conns":
			return "/src/app/pool_test.go", 5
		}
		return "", 0
	}
	for _, tt := range []struct {
		root *refscan.Node
		want environ.Site
	}{
		{global(node("example.com/app.sessions", "", 1, 8), "", 0), environ.Site{File: "/src/app/app.go", Line: 3}},
		{global(node("example.com/app.sessions", "", 1, 8), "/src/app/known.go", 9), environ.Site{File: "/src/app/known.go", Line: 9}},
		{frame(node("example.com/app.run.$temporary", "", 1, 8), refscan.RootInfo{Func: "example.com/app.run"}), environ.Site{File: "/src/app/app.go", Line: 3}},
		{frame(node("example.com/app.sessions", "", 1, 8), refscan.RootInfo{Func: "example.com/app.run"}), environ.Site{}},
	} {
		b := tree.GrowForest(report(tt.root))[0]
		assert.Equal(t, tt.want, message.Declaration(&declared, b), b.Path)
		assert.Equal(t, environ.Site{File: tt.root.Root.File, Line: tt.root.Root.Line}, message.Declaration(env, b), "nothing is known")
	}
	for _, tt := range []struct{ typ, field, want string }{
		{"*example.com/app.Pool", "conns", "field conns of example.com/app.Pool (pool.go:17)"},
		{"*example.com/app.Pool", "conns.first", "field conns of example.com/app.Pool (pool.go:17)"},
		{"*example.com/app.Pool", "other", "field other of example.com/app.Pool"},
		{"*example.com/app.Box[int]", "v", "field v of example.com/app.Box"},
		{"*example.com/app.fixture", "conns", ""},
		{"[]*example.com/app.Pool", "[*]", ""},
		{"*net.conn", "fd", ""},
	} {
		b := tree.GrowForest(report(global(node("example.com/app.v", tt.typ, 1, 8, node(tt.field, "[]int", 1, 8)), "", 0)))[0].Children[0]
		assert.Equal(t, tt.want, message.FieldOf(b, &declared), tt)
	}
	b := tree.GrowForest(report(global(node("example.com/app.v", "*example.com/app.Pool", 1, 8, node("conns", "[]int", 1, 8)), "", 0)))[0].Children[0]
	assert.Equal(t, "field conns of example.com/app.Pool", message.FieldOf(b, env))
}

// The remarks on a branch's figures.
func TestDescribe(t *testing.T) {
	of := func(typ string, f refscan.Figures) *tree.Branch { return &tree.Branch{Typ: typ, Figures: f} }
	one := of("[]*example.com/app.T", refscan.Figures{Objects: 1, Bytes: 64})
	one.Element, one.ElementObjects = 3, 9000
	closed := of("*os.File", refscan.Figures{Objects: 3, Bytes: 24, Ended: 3})
	closed.EndedState = "closed"
	for _, tt := range []struct {
		b    *tree.Branch
		want string
	}{
		{of("", refscan.Figures{}), ""},
		{of("map[string]int", refscan.Figures{Objects: 1, Bytes: 64, Elems: 1}), "  map[string]int, 1 entry"},
		{of("map[string]int", refscan.Figures{Objects: 1, Bytes: 4096}), "  map[string]int, 0 entries (a map does not give back the room of those that it had)"},
		{of("map[string]int", refscan.Figures{Objects: 2, Bytes: 8192}), "  map[string]int"},
		{one, "  []*app.T, 9,000 objects at [3]"},
		{of("string", refscan.Figures{Objects: 1, Bytes: 4096, UnreachedBytes: 2048}), "  string, 2.0 KiB of it outside of the strings"},
		{of("[]uint8", refscan.Figures{Objects: 1, Bytes: 4096, UnreachedBytes: 2048}), "  []uint8, 2.0 KiB of it outside of the slices"},
		{closed, "  *os.File, closed"},
		{of("*int", refscan.Figures{Objects: 2, Bytes: 16, UntypedObjects: 1}), "  *int, 1 of unknown type"},
	} {
		assert.Equal(t, tt.want, message.Describe(tt.b))
	}
	assert.Equal(t, "(object of unknown type)", message.TypeText(of("", refscan.Figures{})))
	entries := tree.GrowForest(report(global(node("example.com/app.m", "map[int]int", 1, 64, node("$mapval", "int", 3, 0)), "", 0)))[0].Children[0]
	assert.Equal(t, "  int, inside of the map", message.Describe(entries))
}

// A long trace lacks its middle, and one to a list has the reference from an element to the next.
func TestLines(t *testing.T) {
	next := node("last", "*example.com/app.T", 5, 500)
	next.Recursion = "next"
	for i := range 20 {
		next = node(fmt.Sprintf("f%02d", 20-i), "*example.com/app.T", 0, 0, next)
	}
	next.Name = "example.com/app.v"
	tr := tree.TraceTo(message.Deepest(tree.GrowForest(report(global(next, "", 0)))[0]), false, tree.BytesOf)
	tr.Freed = true
	tr.Last().Retained, tr.Last().Shared = tree.Tally{Objects: 5, Bytes: 500}, tree.Tally{Bytes: 20}
	lines := message.Lines(tr)
	assert.Len(t, lines, 1+14+1+1)
	assert.Equal(t, "         -           -  example.com/app.v  *app.T, frees nothing", lines[1])
	assert.Contains(t, lines[8], "└─ … 7 edges more")
	assert.Contains(t, lines[15], "5       500 B  ")
	assert.Contains(t, lines[15], "└─ last  *app.T, frees 500 B, not 20 B shared")
	assert.Contains(t, lines[16], "└─ next  *app.T, counted above")
	links := message.Chain(tr)
	assert.Len(t, links, len(lines)-1)
	assert.True(t, links[len(links)-1].Back)

	tr.Cut, tr.Grows = tr.Branches[0], tr.Last()
	lines = message.Lines(tr)
	assert.NotContains(t, lines[15], "frees")
	assert.True(t, strings.HasSuffix(lines[15], message.SuspectMark))
	assert.Equal(t, message.SuspectLegend, lines[len(lines)-1])
}

// Beside a trace a message lists the largest other branches.
func TestOthers(t *testing.T) {
	root := global(node("example.com/app.v", "*example.com/app.T", 1, 8, node("most", "[]uint8", 1, 900)), "", 0)
	for i := range 7 {
		root.Children = append(root.Children, node(fmt.Sprintf("f%d", i), "[]uint8", 1, 10*int64(i+1)))
	}
	b := tree.GrowForest(report(root))[0]
	tr := tree.TraceTo(b, true, tree.BytesOf)
	others := message.Others(tr, []*tree.Branch{b}, true)
	assert.Len(t, others, 6)
	assert.Equal(t, "         1        70 B  example.com/app.v.f6  []uint8", others[0])
	assert.Contains(t, others[5], "… and 2 paths more")
	assert.Empty(t, message.Others(tr, []*tree.Branch{b}, false))
	assert.Len(t, message.Others(tr, b.Children[:2], false), 1)
}
