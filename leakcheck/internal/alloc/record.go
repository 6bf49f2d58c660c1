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
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/refscan"
)

// One object of each of these types is allocated right before and right after the calls that count.
// If they are in the trace, the trace has allocations at all: beside a flight recorder it has none.
type (
	beginMark struct{ _ *int }
	endMark   struct{ _ *int }
)

// marksMade holds the last marks, so that they are on the heap.
var marksMade struct {
	begin *beginMark
	end   *endMark
}

var marks = alloctrace.Marks{Begin: typeAddress(beginMark{}), End: typeAddress(endMark{})}

// typeAddress returns the address of the descriptor of x's type.
func typeAddress(x any) uintptr { return *(*uintptr)(unsafe.Pointer(&x)) }

// maxTrace is the maximum length of a trace in bytes: some 20 million allocations.
const maxTrace = 256 << 20

// tracing allows one recording at a time, since the process has only one execution trace.
var tracing = make(chan struct{}, 1)

// maxTurn bounds the wait for other recordings if the test has no deadline.
const maxTurn = 10 * time.Minute

// takeTurn waits until no other recording is made. end ends the turn.
func takeTurn(wait time.Duration) (end func(), err error) {
	timeout := time.NewTimer(min(wait, maxTurn))
	defer timeout.Stop()
	select {
	case tracing <- struct{}{}:
		return func() { <-tracing }, nil
	case <-timeout.C:
		return nil, &refscan.UnavailableError{
			Cause:  "another AssertAllocs has not ended, and only one can count at a time",
			Remedy: "do not call AssertAllocs in its own op; raise -timeout where many tests wait for each other",
		}
	}
}

// A recording holds the allocations of some calls of an operation.
type recording struct {
	calls     int
	classes   []int64 // sizes of the heap's size classes
	rows      []*row
	unsized   int64 // objects whose size is uncertain
	collected bool  // a garbage collection ran meanwhile
}

// record calls op a few times and then n times. It counts what op's goroutine, and the goroutines
// that it starts, allocate in the latter calls. wait bounds the time until other recordings end. A
// refusal by the system or the program is an *refscan.UnavailableError. A panic of op passes
// through, and so does runtime.Goexit; then nothing is returned.
func record(op *calls.Op, n int, wait time.Duration) (*recording, error) {
	end, err := takeTurn(wait)
	if err != nil {
		return nil, err
	}
	defer end()
	memory, err := ask()
	if err != nil {
		return nil, err
	}
	defer withRoomyStacks()()
	// After this collection no page of the heap is left to be swept. So pages do not change their
	// use, which tells the sizes of the objects on them.
	runtime.GC()
	defer withholdCollections(memory)()
	op.Times(warmups) // fills the pools that the collection has emptied
	growStack()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m, err := startMeter(memory)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	callBetweenMarks(op, n)
	return m.end(n)
}

// callBetweenMarks calls op n times between the marks.
func callBetweenMarks(op *calls.Op, n int) {
	marksMade.begin = new(beginMark)
	op.Times(n)
	marksMade.end = new(endMark)
}

// start begins a trace with allocations. stop ends it, once.
func start(out *buffer) (stop func(), err error) {
	// The runtime reads the variable when a trace starts (go1.26, go1.27: runtime/trace.go,
	// traceStart), and sees os.Setenv at once. Programs that op starts do not see it.
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

// allowance is how many bytes may be allocated before a collection runs after all, or half of what
// limits of memory leave.
const allowance = 256 << 20

// withholdCollections prevents automatic garbage collections until that is allocated. A
// collection empties pools, which op fills again, and makes the runtime start goroutines that op
// does not cause. restore restores the settings.
func withholdCollections(memory demand) (restore func()) {
	limit := debug.SetMemoryLimit(-1)
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	now := int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
	debug.SetMemoryLimit(min(limit, now+min(allowance, limits.Left(memory.Need)/2)))
	percent := debug.SetGCPercent(-1)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// collections is the number of garbage collections so far.
func collections() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A buffer receives a trace. One goroutine of the runtime writes to it until the trace is stopped.
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
