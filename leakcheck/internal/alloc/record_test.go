package alloc

import (
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/alloctrace"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/refscan"
)

// opOf returns an operation that fails no test.
func opOf(f func()) *calls.Op { return calls.NewOp(f, func() bool { return false }, time.Now) }

type (
	node  struct{ left, _ *node }
	entry struct{ _ [6]int }
	pair  struct{ _ int32 }
)

// These variables hold the allocated objects, which might be on the stack otherwise.
var (
	keptNode    *node
	keptEntry   *entry
	keptPair    *pair
	keptEntries []entry
	keptMap     map[string]*entry
	keptBytes   []byte
	keptAny     any
	keptThree   *[3]int32
)

// allocate has an entry for each kind of allocation, with the name and the objects of its row.
var allocate = []struct {
	name    string
	objects int64
	f       func()
}{
	{"github.com/leakgate/leakgate/leakcheck/internal/alloc.node", 2, func() { keptNode = &node{left: new(node)} }},
	{"github.com/leakgate/leakgate/leakcheck/internal/alloc.entry", 1, func() { keptEntry = new(entry) }},
	{"github.com/leakgate/leakgate/leakcheck/internal/alloc.pair", 1, func() { keptPair = new(pair) }},
	{"[]github.com/leakgate/leakgate/leakcheck/internal/alloc.entry", 1, func() { keptEntries = make([]entry, 5) }},
	{"[]uint8", 1, func() { keptBytes = make([]byte, 100_000) }},
	{"map[string]*github.com/leakgate/leakgate/leakcheck/internal/alloc.entry", 1, func() { keptMap = map[string]*entry{}; keptMap["a"] = nil }},
	{"values of kind uint64 in interfaces", 1, func() { keptAny = len(keptBytes) + 1000 }},
	{"runtime.hchan", 1, func() { keptAny = make(chan *node, 4) }},
	{"runtime.timeTimer", 1, func() { time.AfterFunc(time.Hour, func() {}).Stop() }},
}

// All allocations of an operation are counted, and no others, even if other goroutines allocate
// meanwhile.
func TestCountsAreExact(t *testing.T) {
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 2 {
		others.Add(1)
		go func() {
			defer others.Done()
			for {
				select {
				case <-stop:
					return
				default:
					noise(new(entry), make([]byte, 333))
					runtime.Gosched()
				}
			}
		}()
	}
	defer others.Wait()
	defer close(stop)
	random := rand.New(rand.NewPCG(1, 2))
	for range require.Rounds(10, 100) {
		times := make([]int, len(allocate))
		for i := range times {
			times[i] = random.IntN(4)
		}
		inGoroutines := random.IntN(2) == 1
		op := func() {
			for i, n := range times {
				for range n {
					allocate[i].f()
				}
			}
		}
		asked := op
		if inGoroutines {
			asked = func() {
				done := make(chan struct{})
				go func() {
					go func() { op(); close(done) }()
				}()
				<-done
			}
		}
		const calls = 20
		r, err := record(opOf(asked), calls, time.Minute)
		require.NoError(t, err)
		require.Zero(t, r.unsized)
		found := make(map[string]int64)
		for _, n := range r.rows {
			found[n.name] = n.objects
		}
		for i, a := range allocate {
			require.Equal(t, int64(times[i])*a.objects*calls, found[a.name], a.name, inGoroutines)
		}
	}
}

//go:noinline
func noise(*entry, []byte) {}

// The number of allocations in the trace agrees with the runtime's own statistics.
func TestCountsAgreeWithTheRuntime(t *testing.T) {
	op := func() {
		for _, a := range allocate {
			a.f()
		}
	}
	const calls = 1000
	trace, classes := traceOf(t, op, calls)
	var before, after runtime.MemStats
	own := func() *alloctrace.Counts {
		counts, err := alloctrace.Read(trace, marks, classes)
		require.NoError(t, err)
		return counts
	}()
	runtime.ReadMemStats(&before)
	for range calls {
		op()
	}
	runtime.ReadMemStats(&after)
	sum := total(&recording{rows: rowsOf(own, classes), calls: calls})
	// The runtime itself, and a test that is ending, may allocate a little.
	assert.InDelta(t, float64(after.Mallocs-before.Mallocs), float64(sum.objects), calls/20)
}

// Bytes are those that the runtime counts, where small objects share blocks, too.
func TestBytesAgreeWithTheRuntime(t *testing.T) {
	if RaceDetector {
		t.Skip("small objects do not share blocks with -race")
	}
	var texts [36]string
	for name, op := range map[string]func(){
		"texts": func() {
			for i := range texts {
				texts[i] = strings.Repeat("x", 1+i%12)
			}
		},
		"of a type":                func() { keptThree = new([3]int32) },
		"of two types":             func() { keptThree, keptPair = new([3]int32), new(pair) },
		"texts beside other types": func() { keptPair, texts[0], keptNode = new(pair), strings.Repeat("x", 9), new(node) },
	} {
		const calls = 500
		r, err := record(opOf(op), calls, time.Minute)
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			op()
		}
		runtime.ReadMemStats(&after)
		all := float64(after.TotalAlloc - before.TotalAlloc)
		assert.InDelta(t, all/calls, float64(total(r).bytes)/calls, max(1, 0.01*all/calls), name)
	}
}

// traceOf returns the trace of so many calls, and the size classes.
func traceOf(t testing.TB, op func(), calls int) (trace []byte, classes []int64) {
	t.Helper()
	out := &buffer{}
	stop, err := start(out)
	require.NoError(t, err)
	callBetweenMarks(opOf(op), calls)
	stop()
	require.False(t, out.full)
	return out.bytes, sizeClasses()
}

// An operation that panics or ends its goroutine leaves all settings as they were.
func TestSettingsAfterPanic(t *testing.T) {
	t.Setenv("GODEBUG", "http2debug=0")
	limit := debug.SetMemoryLimit(-1)
	percent := debug.SetGCPercent(123)
	defer func() { assert.Equal(t, 123, debug.SetGCPercent(percent)) }()
	for _, end := range []func(){func() { panic("op") }, runtime.Goexit} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { _ = recover() }()
			_, _ = record(opOf(end), 3, time.Minute)
		}()
		<-done
		assert.False(t, trace.IsEnabled())
		assert.Equal(t, "http2debug=0", os.Getenv("GODEBUG"))
		assert.Equal(t, limit, debug.SetMemoryLimit(-1))
	}
	r, err := record(opOf(func() {
		assert.Equal(t, "http2debug=0", os.Getenv("GODEBUG"), "programs that op starts would see it")
		allocate[0].f()
	}), 3, time.Minute)
	require.NoError(t, err)
	assert.NotEmpty(t, r.rows)
}

// If another trace is running, the verdict is unknown, with a remedy.
func TestTraceInUse(t *testing.T) {
	require.NoError(t, trace.Start(io.Discard))
	_, err := record(opOf(func() {}), 1, time.Minute)
	trace.Stop()
	var u *refscan.UnavailableError
	require.ErrorAs(t, err, &u)
	assert.Contains(t, u.Remedy, "-trace")
}

// An operation that counts allocations itself does not wait for ever.
func TestNestedRecordings(t *testing.T) {
	var inner error
	_, err := record(opOf(func() { _, inner = record(opOf(allocate[0].f), 1, time.Millisecond) }), 1, time.Minute)
	require.NoError(t, err)
	var u *refscan.UnavailableError
	require.ErrorAs(t, inner, &u)
	assert.Contains(t, u.Remedy, "in its own op")
}

// Reading a damaged trace ends, with an error or with figures.
func FuzzRead(f *testing.F) {
	whole, classes := traceOf(f, func() { allocate[0].f(); allocate[4].f() }, 3)
	f.Add(whole)
	for i := 1; i < 10; i++ {
		f.Add(whole[:len(whole)*i/10])
		damaged := append([]byte(nil), whole...)
		for j := len(whole) * i / 20; j < len(whole); j += 97 {
			damaged[j] ^= byte(1 << (i % 8))
		}
		f.Add(damaged)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		counts, err := alloctrace.Read(data, marks, classes)
		if err == nil && counts == nil {
			t.Error("neither figures nor an error")
		}
	})
}

// Goroutines whose stacks are full in the middle of an allocation do not crash the process (see
// stack.go): without the precautions, Go 1.27 crashes at some depths.
func TestStacksThatGrow(t *testing.T) {
	const depths, objects, calls = 60, 3000, 4 // more than a buffer's worth of events
	for depth := range depths {
		for name, at := range map[string]func(int, func()) int{"narrow": atDepth, "wide": atWideDepth} {
			op := func() {
				done := make(chan struct{})
				go func() {
					defer close(done)
					at(depth, func() {
						for range objects {
							keptNode = new(node)
						}
					})
				}()
				<-done
			}
			r, err := record(opOf(op), calls, time.Minute)
			require.NoError(t, err)
			assert.True(t, total(r).objects >= calls*objects, name, depth, total(r).objects)
		}
	}
}

//go:noinline
func atDepth(n int, f func()) int {
	if n == 0 {
		f()
		return 0
	}
	return atDepth(n-1, f) + 1
}

//go:noinline
func atWideDepth(n int, f func()) int {
	var room [3]int
	room[n%3] = n
	if n == 0 {
		f()
		return 0
	}
	return atWideDepth(n-1, f) + room[n%3]
}
