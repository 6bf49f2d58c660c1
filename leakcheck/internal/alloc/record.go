// Package alloc counts what an operation allocates, by type, and holds it to bounds.
package alloc

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/trace"
	"sync"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/alloctrace"
	"github.com/leakgate/leakgate/refscan"
)

// One object of each of these types is allocated before and after what is counted. That they are in
// the trace shows that it has allocations at all: beside a flight recorder a trace has none.
type (
	beginMark struct{ _ *int }
	endMark   struct{ _ *int }
)

// marksMade has the last marks, which have to be on the heap.
var marksMade struct {
	begin *beginMark
	end   *endMark
}

var marks = alloctrace.Marks{Begin: typeAddress(beginMark{}), End: typeAddress(endMark{})}

// typeAddress returns the address of the descriptor of x's type.
func typeAddress(x any) uintptr { return *(*uintptr)(unsafe.Pointer(&x)) }

// maxTrace is how long a trace may become, in bytes: some 20 million allocations.
const maxTrace = 256 << 20

// tracing lets one recording be made at a time: there is but one execution trace.
var tracing = make(chan struct{}, 1)

// maxTurn bounds the wait for others' recordings where the test has no deadline.
const maxTurn = 10 * time.Minute

// takeTurn waits until no other recording is made, and returns what ends this one's turn.
func takeTurn(wait time.Duration) (end func(), err error) {
	timeout := time.NewTimer(min(wait, maxTurn))
	defer timeout.Stop()
	select {
	case tracing <- struct{}{}:
		return func() { <-tracing }, nil
	case <-timeout.C:
		return nil, &refscan.UnavailableError{
			Cause:  "another AssertAllocs has not ended, and allocations can be counted for one at a time",
			Remedy: "do not call AssertAllocs in an op of AssertAllocs; raise the timeout (go test -timeout) where many tests wait for each other",
		}
	}
}

// A recording is what some calls of an operation allocated.
type recording struct {
	calls     int
	classes   []int64 // sizes of the heap's
	rows      []*row
	unsized   int64 // objects whose size is not sure
	collected bool  // there was a garbage collection meanwhile
}

// record calls op a few times and then so often, and counts what its goroutine, and those that it
// starts, allocate in the latter. It waits so long for other recordings to end. What the system or
// the program refuses is an *refscan.UnavailableError. A panic of op passes through, and so does
// runtime.Goexit; then nothing is returned.
func record(op func(), calls int, wait time.Duration) (*recording, error) {
	end, err := takeTurn(wait)
	if err != nil {
		return nil, err
	}
	defer end()
	defer withRoomyStacks()()
	// Nothing is left to be swept then, so that pages of the heap do not change their use, by which
	// sizes are told.
	runtime.GC()
	defer withholdCollections()()
	for range warmups { // pools that the collection has emptied
		op()
	}
	growStack()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m, err := startMeter()
	if err != nil {
		return nil, err
	}
	defer m.stop()
	between(op, calls)
	return m.end(calls)
}

// between calls op between the marks.
func between(op func(), calls int) {
	marksMade.begin = new(beginMark)
	for range calls {
		op()
	}
	marksMade.end = new(endMark)
}

// start begins a trace with allocations. What it returns ends it, once.
func start(out *buffer) (stop func(), err error) {
	// The runtime looks at the variable when a trace starts (go1.26, go1.27: runtime/trace.go,
	// traceStart), and at os.Setenv at once. Programs that op starts do not see it.
	before, set := os.LookupEnv("GODEBUG")
	if err := os.Setenv("GODEBUG", alloctrace.Setting(before)); err != nil {
		return nil, err
	}
	err = trace.Start(out)
	if set {
		err = errors.Join(err, os.Setenv("GODEBUG", before))
	} else {
		err = errors.Join(err, os.Unsetenv("GODEBUG"))
	}
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(trace.Stop), nil
}

// allowance is how much is allocated until there is a collection after all, in bytes.
const allowance = 256 << 20

// withholdCollections lets the program collect no garbage by itself until much is allocated: a
// collection empties pools, which op fills again, and has the runtime start goroutines, for which
// op is no reason. What it returns goes back to the settings of before.
func withholdCollections() (restore func()) {
	limit := debug.SetMemoryLimit(-1)
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	now := int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
	debug.SetMemoryLimit(min(limit, now+allowance))
	percent := debug.SetGCPercent(-1)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// collections is how many garbage collections there were.
func collections() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A buffer is what a trace is written to: by one goroutine of the runtime's, until the trace is
// stopped.
type buffer struct {
	bytes []byte
	full  bool
}

func (b *buffer) Write(p []byte) (int, error) {
	if len(b.bytes)+len(p) > maxTrace {
		b.full = true
	} else {
		b.bytes = append(b.bytes, p...)
	}
	return len(p), nil
}

// sizeClasses returns the sizes of the heap's size classes in bytes, in order, with 0 for large
// objects at the front.
func sizeClasses() []int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs-by-size:bytes"}}
	metrics.Read(sample)
	// One bucket for each class: its lower bound is the size of the class before, plus 1 (go1.26
	// runtime/metrics.go, initMetrics); the last is for large objects.
	buckets := sample[0].Value.Float64Histogram().Buckets
	classes := make([]int64, len(buckets)-1)
	for i := range classes {
		classes[i] = int64(buckets[i]) - 1
	}
	return classes
}
