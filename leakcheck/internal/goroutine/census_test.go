package goroutine_test

import (
	"slices"
	"testing"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

func TestStartOf(t *testing.T) {
	wait := func(frames ...any) *refscan.GoroutineStack {
		return reporttest.Goroutines(1, "entry", "creator", reporttest.StackOf(append(frames, "sync.runtime_Semacquire", 10, "runtime.gopark", 32)...))[0]
	}
	for want, g := range map[string]*refscan.GoroutineStack{
		"app.run":                  wait("app.run", 10),
		"app.(*T).run":             wait("app.New.gowrap1", 10, "app.(*T).run", 10),
		"app.New.func1":            wait("sync.(*WaitGroup).Go.func1", 10, "app.New.func1", 10),
		"app.Fetch.func2":          wait("golang.org/x/sync/errgroup.(*Group).Go.func1", 10, "app.Fetch.func2", 10),
		"app.outer":                wait("app.outer", 10, "sync.(*WaitGroup).Go.func1", 10),
		"entry":                    wait("sync.(*WaitGroup).Go.func1", 10), // it ends
		"gopkg.in/yaml.v3.(*T).do": wait("gopkg.in/yaml%2ev3.(*T).do", 10),
	} {
		got, _ := goroutine.StartOf(g)
		assert.Equal(t, want, got)
	}
	c := goroutine.TakeCensus([]*refscan.GoroutineStack{wait("sync.(*WaitGroup).Go.func1", 10, "example.com/app.New.func1", 10)})[0]
	assert.Equal(t, golden.Measurement{Path: "goroutine:example.com/app.New.func", Type: "created by creator", Objects: 1}, c.CountLine())
}

func TestSizeStep(t *testing.T) {
	for size, want := range map[int64]int64{
		0: 0, 6144: 0, 6145: 8192, 8192: 8192, 12288: 8192, 12289: 16384, 64 << 10: 64 << 10, 64<<10 + 500: 64 << 10,
		96 << 10: 64 << 10, 96<<10 + 1: 128 << 10, 1 << 40: 1 << 40,
	} {
		assert.Equal(t, want, goroutine.SizeStep(size), size)
	}
}

func TestSourceName(t *testing.T) {
	for function, want := range map[string]string{
		"example.com/app.New":               "example.com/app.New",
		"example.com/app.New.func1":         "example.com/app.New",
		"example.com/app.New.func1.2":       "example.com/app.New",
		"example.com/app.New.gowrap1":       "example.com/app.New",
		"example.com/app.(*T[...]).Run":     "example.com/app.(*T[...]).Run",
		"example.com/app.New-range1":        "example.com/app.New",
		"example.com/app.functional":        "example.com/app.functional",
		"example.com/app.funcs.func3":       "example.com/app.funcs",
		"example.func1.com/app.New":         "example.func1.com/app.New",
		"gopkg.in/yaml.v3.(*parser).func12": "gopkg.in/yaml.v3.(*parser)",
	} {
		got, closure := goroutine.SourceName(function)
		assert.Equal(t, want, got, function)
		assert.Equal(t, got != function, closure, function)
	}
}

func pattern(t *testing.T, text string) naming.Pattern {
	t.Helper()
	p, err := naming.CompilePathPattern(text)
	require.NoError(t, err, text)
	return p
}

// pool is n workers with a frame of some size.
func pool(n, frame int) []*refscan.GoroutineStack {
	return reporttest.Goroutines(n, "example.com/app.New.gowrap1", "example.com/app.New", reporttest.StackOf(
		"example.com/app.New.gowrap1", 40, "example.com/app.(*pool).run", 100, "example.com/app.(*pool).handle", frame, "runtime.gopark", 32))
}

// A census leaves out goroutines of the runtime and of this tool, and has one crew for each origin
// and stack.
func TestCensus(t *testing.T) {
	tool := reporttest.Goroutines(1, "github.com/leakgate/leakgate/refscan.collectNow", "github.com/leakgate/leakgate/refscan.collect", reporttest.StackOf("x", 1))
	system := reporttest.Goroutines(1, "runtime.bgsweep", "", reporttest.StackOf("runtime.bgsweep", 10))
	system[0].System = true
	self := reporttest.Goroutines(1, "testing.tRunner", "testing.(*T).Run", reporttest.StackOf(
		"testing.tRunner", 100, "example.com/app.TestX", 200, "github.com/leakgate/leakgate/leakcheck.AssertRetained", 300, "example.com/app.inner", 400))
	self[0].Self = true
	running := reporttest.Goroutines(1, "example.com/app.spin", "", reporttest.StackOf("example.com/app.spin", 50))
	running[0].State, running[0].WaitReason = "running", ""
	all := goroutine.TakeCensus(slices.Concat(tool, system, pool(3, 1000), pool(2, 5000), self, running))
	require.Len(t, all, 4)
	assert.Equal(t, []int64{3, 2, 1, 1}, []int64{all[0].Count, all[1].Count, all[2].Count, all[3].Count})
	assert.Equal(t, "example.com/app.(*pool).run", all[0].Entry)
	assert.Equal(t, "chan receive", all[0].State)
	assert.Equal(t, "running", all[3].State)
	assert.EqualValues(t, 3<<16, all[0].Stack)
	assert.EqualValues(t, 7, all.Count())
	assert.Equal(t, "example.com/app.TestX", all[2].Frames()[0].Func, "without the frames of this tool and of what it called")
	assert.Equal(t, "runtime.gopark", all[0].Frames()[0].Func)

	for text, want := range map[string]int64{"app.New": 5, "app.(*pool).run": 5, "app.(*pool).handle": 0, "app.**": 6, "app.spin": 1} {
		assert.Equal(t, want, all.GoroutinesAt(pattern(t, text)), text)
	}
	for text, want := range map[string]int64{"app.(*pool).handle": 5, "app.(*pool).run": 0, "app.TestX": 0, "app.spin": 0} {
		assert.Equal(t, want, all.Inside(pattern(t, text)).Count(), text)
	}
	for text, want := range map[string][2]int64{
		"app.(*pool).handle": {5, 3*1032 + 2*5032}, "app.(*pool).run": {5, 3*1132 + 2*5132}, "app.TestX": {1, 200}, "app.inner": {0, 0},
	} {
		n, bytes := all.StackAt(pattern(t, text))
		assert.Equal(t, want, [2]int64{n, bytes}, text)
	}
	below := all[0].Below(pattern(t, "app.(*pool).**"))
	assert.EqualValues(t, 1132, goroutine.SizeOf(below))
	assert.Equal(t, "example.com/app.(*pool).handle", goroutine.Largest(below).Func)
}

// Lines of a golden file count goroutines by origin, and sum up large frames by function.
func TestLines(t *testing.T) {
	all := goroutine.TakeCensus(slices.Concat(pool(3, 1000), pool(2, 50_000)))
	every := []naming.Pattern{pattern(t, "app.**")}
	lines := all.Lines(every, every)
	assert.Equal(t, []golden.Measurement{
		{Path: "goroutine:example.com/app.(*pool).run", Type: "created by example.com/app.New", Objects: 5},
		{Path: "stack:example.com/app.(*pool).handle", Type: "frame", Objects: 2, Bytes: 2 * 64 << 10, BytesTolerance: lines[1].BytesTolerance},
	}, lines)
	assert.Empty(t, all.Lines(nil, nil))
	assert.Empty(t, all.Lines([]naming.Pattern{pattern(t, "net.**")}, []naming.Pattern{pattern(t, "net.**")}))
	frame := all[1].FrameOf("stack:example.com/app.(*pool).handle")
	require.NotNil(t, frame)
	assert.EqualValues(t, 50_000, frame.Size)
	assert.True(t, all[1].FrameOf("stack:example.com/app.other") == nil)
}

// A goroutine of a closure that an inlined function returned has the name of the function that made
// it.
func TestNamesOfClosures(t *testing.T) {
	g := reporttest.Goroutines(1, "example.com/app.Run.func1", "example.com/app.Start", reporttest.StackOf("example.com/app.Run.func1", 10))
	assert.Equal(t, "goroutine:example.com/app.Start.func", goroutine.TakeCensus(g)[0].CountLine().Path)
	g[0].CreatedBy = ""
	m := goroutine.TakeCensus(g)[0].CountLine()
	assert.Equal(t, golden.Measurement{Path: "goroutine:example.com/app.Run.func", Objects: 1}, m)
	inlined := reporttest.StackOf("example.com/app.Run.gowrap1", 10)
	inlined.Frames[0].Inlined = []refscan.InlinedCall{{Func: "example.com/app.work"}}
	g = reporttest.Goroutines(1, "example.com/app.Run.gowrap1", "example.com/app.Run", inlined)
	assert.Equal(t, "example.com/app.work", goroutine.TakeCensus(g)[0].Entry)
	assert.EqualValues(t, 1, goroutine.TakeCensus(g).With(pattern(t, "app.work")).Count())
}
