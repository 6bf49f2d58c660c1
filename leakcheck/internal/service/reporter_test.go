package service

import (
	"context"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
)

const stacks = `goroutine 7 [chan receive]:
example.com/app.(*pool).work(0xc000012345)
	/src/app/pool.go:20 +0x1a
created by example.com/app.(*pool).start in goroutine 1
	/src/app/pool.go:12 +0x2b

goroutine 9 [running]:
runtime/pprof.writeGoroutineStacks({0x1, 0x2})
	/go/src/runtime/pprof/pprof.go:700 +0x70
net/http/pprof.handler.ServeHTTP({0x1, 0x2}, {0x3, 0x4}, 0x5)
	/go/src/net/http/pprof/pprof.go:270 +0x70
net/http.(*conn).serve(0xc0000, {0x1, 0x2})
	/go/src/net/http/server.go:2000 +0x70
created by net/http.(*Server).Serve in goroutine 1
	/go/src/net/http/server.go:3000 +0x70
`

func ofProgram(pkg string) bool { return pkg == "example.com/app" }

// A process that reports by itself has what its answers say.
func TestReporter(t *testing.T) {
	worker := reporttest.Frame(reporttest.Node("example.com/app.(*pool).work.p", "*example.com/app.pool", 5, 50),
		refscan.RootInfo{Func: "example.com/app.(*pool).work", Goroutine: "example.com/app.(*pool).work", CreatedBy: "example.com/app.(*pool).start", CreatedAt: "/src/app/pool.go:12", Goroutines: 3})
	report, text := reporttest.Report(reporttest.Sessions(3), worker), stacks
	var failed error
	e := NewReporter("the server", func(context.Context) (*refscan.Report, string, error) { return report, text, failed })
	require.NoError(t, e.Open(context.Background()))
	defer e.Close()
	o, err := e.Observe(context.Background(), observe.Needs{})
	require.NoError(t, err)
	assert.Same(t, report, o.Report)
	assert.Len(t, e.Notes(), 1)
	counts := func() map[string]int64 {
		found := make(map[string]int64)
		for origin, g := range e.Goroutines(ofProgram) {
			found[origin.Entry+" by "+origin.CreatedBy] += int64(g.Count)
		}
		return found
	}
	const origin = "example.com/app.(*pool).work by example.com/app.(*pool).start"
	assert.Equal(t, map[string]int64{origin: 1}, counts(), "without the one that answers")
	text = ""
	_, err = e.Observe(context.Background(), observe.Needs{})
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{origin: 3}, counts(), "those that hold something")
	assert.Len(t, e.Notes(), 2)
	failed = assert.AnError
	_, err = e.Observe(context.Background(), observe.Needs{})
	var unavailable *refscan.UnavailableError
	require.ErrorAs(t, err, &unavailable)
	assert.Equal(t, "the server does not say what it retains", unavailable.Cause)
	assert.True(t, e.AwaitIdle(func() bool { return true }))
	l, err := e.Resources("")
	require.NoError(t, err)
	assert.NotNil(t, l)
	_, err = e.Malloc()
	require.Error(t, err)
	assert.Nil(t, e.Modules())
}

// What the next collections would take away is cut off, and a note says so if it grows.
func TestLeftOut(t *testing.T) {
	pool := reporttest.Node("local", poolLocal, 4, 400, reporttest.Node("private", "*example.com/app.buf", 1, 100))
	n := reporttest.Node("example.com/app.srv", "*example.com/app.Server", 1, 10, reporttest.Node("bufs", "sync.Pool", 1, 20, pool), reporttest.Node("conns", "[]int", 2, 30))
	var left leftOut
	left.cutPools(n)
	assert.Equal(t, tally{5, 500}, left.pools)
	objects, bytes := n.Total()
	assert.Equal(t, []int64{4, 60}, []int64{objects, bytes})

	p := &Process{pid: 1 << 30}
	assert.Equal(t, "process 1073741824", p.String())
	p.left = [2]leftOut{{pools: tally{1, 100}}, {pools: tally{2, 100 + minLeftOut - 1}}}
	assert.Empty(t, p.Notes())
	p.left[1] = leftOut{pools: tally{2, 100 + minLeftOut}, waiting: tally{3, minLeftOut}}
	assert.Equal(t, []string{"process 1073741824 was not made to collect garbage; what its next collections free does not count: " +
		"2 objects (64.1 KiB) in a sync.Pool, and 3 objects (64.0 KiB) that wait for a finalizer or cleanup"}, p.Notes())
}

// A goroutine of another process reads as runtime.Stack shows it.
func TestTraceOf(t *testing.T) {
	all := reporttest.Goroutines(3, "example.com/app.New.gowrap1", "example.com/app.New", reporttest.StackOf(
		"example.com/app.New.gowrap1", 40, "example.com/app.(*pool).run", 100, "sync.(*Mutex).Lock", 10, "runtime.gopark", 32))
	all[1].System = true
	all[2].Trace = &refscan.StackTrace{}
	calls := make(map[*refscan.StackTrace][]goroutine.Call)
	one := traceOf(all[0], calls)
	assert.Equal(t, []goroutine.Call{{Function: "sync.(*Mutex).Lock", At: "example.com/app/pool.go:44"}, {Function: "example.com/app.(*pool).run", At: "example.com/app/pool.go:42"}}, one.Calls)
	assert.Equal(t, []string{"chan receive", "example.com/app.New", "example.com/app/pool.go:31"}, []string{one.State, one.CreatedBy, one.CreatedAt})
	assert.Len(t, calls, 1)
	assert.True(t, traceOf(all[1], calls) == nil, "of the runtime")
	assert.Equal(t, []goroutine.Call{{Function: "example.com/app.New.gowrap1"}}, traceOf(all[2], calls).Calls, "it was running")
	exported := reporttest.Goroutines(1, "example.com/app.spin", "", reporttest.StackOf("example.com/app.spin", 1, "runtime.GC", 1, "runtime.gcStart", 1))
	assert.Equal(t, "runtime.GC", traceOf(exported[0], calls).Calls[0].Function)

	p := &Process{stacks: &refscan.Stacks{Goroutines: all}}
	n := 0
	for _, g := range p.Goroutines(ofProgram) {
		n += int(g.Count)
	}
	assert.Equal(t, 2, n)
	assert.True(t, new(Process).Goroutines(ofProgram) == nil)
}

// A process that is not there is a mistake of the test, which the error says.
func TestNoProcess(t *testing.T) {
	p := New(1<<30, "")
	_, err := p.Observe(context.Background(), observe.Needs{Heap: true})
	var unavailable *refscan.UnavailableError
	require.ErrorAs(t, err, &unavailable)
	assert.Equal(t, "there is no process 1073741824 to look into", unavailable.Cause)
	assert.NotEmpty(t, unavailable.Remedy)
	_, err = p.Resources("")
	require.Error(t, err)
	assert.True(t, p.AwaitIdle(func() bool { return false }), "the next snapshot has the error")
	assert.Nil(t, p.Modules())
	p.Close()
}
