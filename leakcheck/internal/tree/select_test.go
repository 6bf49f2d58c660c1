package tree_test

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

func scope(t *testing.T, text string) tree.Scope {
	t.Helper()
	packages, err := naming.CompileScope(text)
	assert.NoError(t, err, text)
	return tree.Scope{Packages: []naming.Packages{packages}}
}

// A scope includes variables of its packages, and those of functions that its packages run or have
// run.
func TestScope(t *testing.T) {
	inApp := scope(t, "example.com/app/...")
	for _, tt := range []struct {
		name string
		info refscan.RootInfo
		want bool
	}{
		{"its variable", refscan.RootInfo{Kind: refscan.RootGlobal, Package: "example.com/app"}, true},
		{"a package below", refscan.RootInfo{Kind: refscan.RootGlobal, Package: "example.com/app/db"}, true},
		{"another package", refscan.RootInfo{Kind: refscan.RootGlobal, Package: "example.com/apple"}, false},
		{"memory of C code", refscan.RootInfo{Kind: refscan.RootNative, Package: "C"}, true},
		{"its function", refscan.RootInfo{Kind: refscan.RootFrame, Package: "net", Func: "example.com/app.run"}, true},
		{"its goroutine", refscan.RootInfo{Kind: refscan.RootFrame, Package: "net", Func: "net.read", Goroutine: "example.com/app.run"}, true},
		{"its go statement", refscan.RootInfo{Kind: refscan.RootFrame, Package: "net", Func: "net.read", CreatedBy: "example.com/app.Dial"}, true},
		{"no goroutine of it", refscan.RootInfo{Kind: refscan.RootFrame, Package: "net", Func: "net.read", CreatedBy: "net.Dial"}, false},
		{"a variable with a function's fields", refscan.RootInfo{Kind: refscan.RootGlobal, Package: "net", Func: "example.com/app.run"}, false},
	} {
		assert.Equal(t, tt.want, inApp.Includes(&tt.info), tt.name)
		assert.True(t, new(tree.Scope).Includes(&tt.info), tt.name)
		f := tree.Forest{{Root: &tt.info}}
		assert.Equal(t, tt.want, inApp.IncludesAny(f), tt.name)
		assert.Equal(t, tt.want, len(f.Keep(inApp)) == 1, tt.name)
	}
	skip := tree.Scope{SkipTests: true}
	for _, tt := range []struct {
		info refscan.RootInfo
		want bool
	}{
		{refscan.RootInfo{Kind: refscan.RootFrame, Test: true}, false},
		{refscan.RootInfo{Kind: refscan.RootFrame, Caller: true}, false},
		{refscan.RootInfo{Kind: refscan.RootFrame, Package: "runtime/pprof"}, false},
		{refscan.RootInfo{Kind: refscan.RootFrame, Package: "internal/poll"}, false},
		{refscan.RootInfo{Kind: refscan.RootFrame, Package: "example.com/app"}, true},
		{refscan.RootInfo{Kind: refscan.RootGlobal, Package: "runtime", Test: true}, true},
	} {
		assert.Equal(t, tt.want, skip.Includes(&tt.info), tt.info)
	}
}

// Of a timer of the library a scope keeps the program's values below it. What is above those counts
// for nothing.
func TestScopeOfTimers(t *testing.T) {
	timer := node("timer(context.WithTimeout)", "*context.timerCtx", 3, 300,
		node("key", "*example.com/app.key", 3, 24),
		node("parent", "*context.valueCtx", 3, 96, node("val", "*example.com/app.Session", 3, 288), node("other", "*net.conn", 3, 30)))
	timer.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: "context", Timers: 3}
	none := node("timer(net.(*conn).SetDeadline)", "*net.conn", 3, 300)
	none.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: "net"}
	f := tree.GrowForest(report(timer, none))
	kept := f.Keep(scope(t, "example.com/app"))
	assert.Equal(t, map[string]int64{
		"timer(context.WithTimeout)": 0, "timer(context.WithTimeout).key": 3, "timer(context.WithTimeout).parent": 0, "timer(context.WithTimeout).parent.val": 3,
	}, figures(kept))
	assert.Equal(t, tree.Tally{Objects: 6, Bytes: 312}, kept.Total())
	assert.Equal(t, tree.Tally{Objects: 18, Bytes: 738 + 300}, f.Total(), "the forest stays as it was")
	assert.Equal(t, kept[0], kept[0].Children[0].Parent)
}

// The first Ignore that matches counts, and all below goes with it.
func TestApplyIgnores(t *testing.T) {
	f := tree.GrowForest(report(
		global(node("example.com/app.srv", "*example.com/app.Server", 1, 100, node("debug", "[]uint8", 2, 20, node("x", "[]uint8", 3, 30)), node("conns", "[]int", 4, 40)), "", 0),
		frame(node("example.com/app.run.p", "*example.com/app.pool", 5, 50), refscan.RootInfo{Func: "example.com/app.run", Goroutine: "example.com/app.start"})))
	same, none := tree.ApplyIgnores(f, nil)
	assert.Equal(t, f, same)
	assert.Empty(t, none)
	ignores := []tree.Ignoring{
		{Pattern: pattern(t, "app.srv.debug"), Reason: "only in tests"},
		{Pattern: pattern(t, "app.srv.*"), Reason: "all fields"},
		{Pattern: pattern(t, "app.start"), Reason: "the goroutine"},
		{Pattern: pattern(t, "app.none"), Reason: "nothing"},
	}
	rest, left := tree.ApplyIgnores(f, ignores)
	assert.Equal(t, map[string]int64{"example.com/app.srv": 1}, figures(rest))
	assert.Equal(t, tree.Tally{Objects: 1, Bytes: 100}, rest.Total())
	assert.Equal(t, tree.Tally{Objects: 15, Bytes: 240}, f.Total())
	var texts []string
	for _, i := range left {
		texts = append(texts, i.String())
	}
	assert.Equal(t, "5 objects, 50 B at app.srv.debug: only in tests", texts[0])
	assert.Equal(t, "4 objects, 40 B at app.srv.*: all fields", texts[1])
	assert.Equal(t, "5 objects, 50 B at app.start: the goroutine", texts[2])
	assert.True(t, left[3].IsNothing())
	assert.False(t, left[0].IsNothing())
	assert.Equal(t, "9 objects, 90 B and 2 goroutines with 4.0 KiB of stacks at app.x (3 paths): why",
		tree.Ignored{Ignoring: tree.Ignoring{Pattern: pattern(t, "app.x"), Reason: "why"}, Tally: tree.Tally{Objects: 9, Bytes: 90}, Paths: 3, Goroutines: 2, Stacks: 4096}.String())

	assert.True(t, tree.Ignores(ignores, "example.com/app.srv.debug.x", nil))
	assert.False(t, tree.Ignores(ignores, "example.com/app.srv", nil))
	assert.False(t, tree.Ignores(ignores, "example.com/app.run.p", nil), "below the root")
	assert.True(t, tree.Ignores(ignores, "example.com/app.run.p", f[1].Root))
}

func TestStartedIn(t *testing.T) {
	run := pattern(t, "app.run")
	for _, tt := range []struct {
		info refscan.RootInfo
		want bool
	}{
		{refscan.RootInfo{Kind: refscan.RootFrame, Func: "example.com/app.run"}, true},
		{refscan.RootInfo{Kind: refscan.RootFrame, Func: "net.read", Goroutine: "example.com/app.run"}, true},
		{refscan.RootInfo{Kind: refscan.RootFrame, Func: "net.read", CreatedBy: "example.com/app.run"}, false},
		{refscan.RootInfo{Kind: refscan.RootGlobal, Func: "example.com/app.run"}, false},
		{refscan.RootInfo{Kind: refscan.RootFrame}, false},
	} {
		assert.Equal(t, tt.want, tree.StartedIn(&tt.info, run), tt.info)
	}
}

// A function that a fired timer has yet to run hangs on the timers of its name, so that their sum
// does not depend on the moment.
func TestWithFired(t *testing.T) {
	timer := func(n int64) *refscan.Node {
		root := node("timer(example.com/app.(*Session).expire)", "", 0, 0, node("$fn", "func()", n, 32*n))
		root.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: "example.com/app", Timers: n}
		return root
	}
	record := func(function, by string, n int64) *refscan.Node {
		root := node("goroutine "+function, "func()", n, 32*n, node("$recv", "*example.com/app.Session", n, 96*n))
		root.Root = &refscan.RootInfo{Kind: refscan.RootOther, CreatedBy: by}
		return root
	}
	const expire = "example.com/app.(*Session).expire-fm"
	f := tree.GrowForest(report(timer(3), record(expire, "time.goFunc", 2), record("example.com/app.work", "example.com/app.New", 7))).WithFired()
	assert.Equal(t, map[string]int64{
		"timer(example.com/app.(*Session).expire)": 0, "timer(example.com/app.(*Session).expire).$fn": 5, "timer(example.com/app.(*Session).expire).$fn.$recv": 2,
		"goroutine example.com/app.work": 7, "goroutine example.com/app.work.$recv": 7,
	}, figures(f))
	assert.Len(t, f, 2)
	for _, b := range f {
		if b.Root.Kind == refscan.RootTimer {
			assert.Equal(t, int64(5), b.Root.Timers)
			assert.Equal(t, int64(7), b.Total.Objects)
			assert.Equal(t, b.Root, b.Children[1].Children[0].Root)
			assert.Equal(t, b, b.Children[1].Parent)
		}
	}
	f = tree.GrowForest(report(record("example.com/app.poll", "time.goFunc", 2))).WithFired()
	assert.Equal(t, "timer(example.com/app.poll)", f[0].Path)
	assert.Equal(t, int64(2), f[0].Root.Timers, "none is pending")
	assert.Equal(t, "example.com/app", f[0].Root.Package)
}

// The root that holds op is called so in messages. Reports have another name for it.
func TestNameHeldOps(t *testing.T) {
	const held = "finalizer(*struct { AssertNoGrowth func() })"
	root := node(held, "*struct { AssertNoGrowth func() }", 1, 8, node("AssertNoGrowth", "func example.com/app.TestX.func1", 1, 16, node("srv", "*example.com/app.Server", 1, 64, node("[0]", "int", 1, 8))))
	root.Root = &refscan.RootInfo{Kind: refscan.RootFinalizer}
	other := node("finalizer(*example.com/app.T)", "*example.com/app.T", 1, 8)
	other.Root = &refscan.RootInfo{Kind: refscan.RootFinalizer}
	f := tree.NameHeldOps(tree.GrowForest(report(root, other, global(node("op", "int", 1, 8), "", 0))))
	assert.Equal(t, []string{"op", "op.srv", "op.srv[*]", "finalizer(*example.com/app.T)", "op"}, paths(f))
	var reports []string
	roots := 0
	f.All(func(b *tree.Branch) bool {
		reports = append(reports, b.ReportPath())
		if b.Parent == nil && tree.IsHeldOp(b) {
			roots++
		}
		return true
	})
	assert.Equal(t, 1, roots)
	assert.Equal(t, []string{held + ".AssertNoGrowth", held + ".AssertNoGrowth.srv", held + ".AssertNoGrowth.srv[*]", "finalizer(*example.com/app.T)", "op"}, reports)
}

// Lines of golden files are those of a path and type. A line may sum up all below a path.
func TestCovered(t *testing.T) {
	f := tree.GrowForest(report(global(withElems(node("example.com/app.m", "map[string]*example.com/app.T", 1, 8, node("$mapval", "*example.com/app.T", 3, 96, node("buf", "[]uint8", 3, 96)), node("mother", "int", 1, 8)), 3), "", 0)))
	for _, tt := range []struct {
		name string
		of   golden.Measurement
		want []string
	}{
		{"the path and type", golden.Measurement{Path: "example.com/app.m[*]", Type: "*example.com/app.T"}, []string{"example.com/app.m[*]"}},
		{"another type", golden.Measurement{Path: "example.com/app.m[*]", Type: "int"}, nil},
		{"what cutting would free", golden.Measurement{Path: "retained:example.com/app.m[*].buf"}, []string{"example.com/app.m[*].buf"}},
		{"the entries of the map, too", golden.Measurement{Path: "example.com/app.m[*]"}, []string{"example.com/app.m", "example.com/app.m[*]"}},
		{"all below", golden.Measurement{Path: "example.com/app.m[*].**"}, []string{"example.com/app.m[*].buf"}},
		{"all below, but no longer name", golden.Measurement{Path: "example.com/app.m.mo.**"}, nil},
	} {
		var got []string
		for _, b := range f.Covered([]golden.Measurement{tt.of}) {
			got = append(got, b.Path)
		}
		assert.Equal(t, tt.want, got, tt.name)
	}
}

func TestLines(t *testing.T) {
	line := func(path, typ string, objects, bytes int64) golden.Measurement {
		return golden.Measurement{Path: path, Type: typ, Objects: objects, Bytes: bytes, BytesTolerance: tree.OneStep}
	}
	assert.Equal(t, []golden.Measurement{line("a", "int", 3, 30), line("a", "string", 4, 40), line("b", "int", 5, 50)},
		tree.MergeLines([]golden.Measurement{line("b", "int", 5, 50), line("a", "string", 4, 40), line("a", "int", 1, 10), line("a", "int", 2, 20)}))
	assert.Equal(t, []golden.Measurement{line("a", "int", 2, 0), line("b", "int", 5, 50)},
		tree.LinesBeyond([]golden.Measurement{line("a", "int", 3, 30), line("a", "string", 4, 40), line("b", "int", 5, 50)},
			[]golden.Measurement{line("a", "int", 1, 90), line("a", "string", 4, 40), line("b", "string", 5, 50)}))
}

// Files and sockets of the running Go version have the numbers of their descriptors where the
// types of the library say.
func TestDescriptors(t *testing.T) {
	for _, typ := range []string{"*os.file", "os.file", "*net.netFD"} {
		assert.Equal(t, runtime.GOOS != "plan9", len(tree.Descriptors(typ)) == 1, typ)
	}
	assert.Equal(t, tree.Descriptors("os.file"), tree.Descriptors("*net.netFD"))
	assert.Len(t, tree.Descriptors("internal/poll.splicePipe"), 2)
	for _, typ := range []string{"os.Process", "*os.root", "*example.com/app.file", ""} {
		assert.Nil(t, tree.Descriptors(typ), typ)
	}
}

// What hangs on a retainer is summed up for it, and is not counted.
func TestKeptOnPurpose(t *testing.T) {
	var branches []*tree.Branch
	tree.GrowForest(report(
		global(node("os.Stderr", "*os.File", 1, 8, node("file", "*os.file", 1, 96)), "", 0),
		global(node("example.com/app.log", "*os.File", 2, 16), "", 0))).All(func(b *tree.Branch) bool {
		branches = append(branches, b)
		return true
	})
	rest, hidden := tree.KeptOnPurpose(new(environ.Environment), branches)
	assert.Len(t, rest, 1)
	assert.Equal(t, "example.com/app.log", rest[0].Path)
	assert.Equal(t, []string{"kept on purpose, not counted: 2 objects, 104 B at os.Stderr (the process's standard streams)"}, tree.NotesOf(hidden))
	for path, want := range map[string]bool{
		"os.Stderr": true, "os.Stderr.file": true, "os.Stderrs": false, "runtime.allgs": false, "example.com/app.log": false, "net/http.DefaultTransport.idleConn[*]": true,
	} {
		assert.Equal(t, want, tree.MayBeKept(path, &refscan.RootInfo{Kind: refscan.RootGlobal}), path)
		assert.False(t, tree.MayBeKept(path, &refscan.RootInfo{Kind: refscan.RootFrame}), path)
	}
}
