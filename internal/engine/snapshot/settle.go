package snapshot

import (
	"context"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/leakgate/leakgate/internal/engine/gcwatch"
)

const (
	// minCycles is how many garbage collections one settling takes at least: two empty the
	// sync.Pools (go1.26 sync/pool.go, poolCleanup).
	minCycles = 2
	// maxCycles bounds them. An object with a finalizer needs two, and what such an object held
	// alone one more.
	maxCycles = 10
	// longEnough is how long a program that does nothing but allocate gets to come to rest. Ten
	// collections of a small heap take less.
	longEnough = time.Second
	// maxQueueWait bounds the wait for finalizers and cleanups after each collection.
	maxQueueWait = 100 * time.Millisecond
)

// settle brings the heap to rest: it collects garbage until nothing happens from one collection to
// the next, and lets finalizers, cleanups and ending goroutines run in between. Nothing happens
// where no finalizer or cleanup fell due, no goroutine began or ended and nothing was allocated,
// but for the few objects that collecting itself takes. What the second collection finds dead does
// not count: that is how a sync.Pool gives up what it held, and all at once. It is bounded; a
// program that never rests is taken as it is, and sooner where collections take long and it does
// nothing but allocate.
//
// Nothing is allocated between the collection after which the program rests and the return, so no
// other is needed.
func settle(ctx context.Context) (rests bool, err error) {
	begun := time.Now()
	before := observeActivity() // the first use of package metrics allocates
	for cycle := 1; ; cycle++ {
		if err := CollectNow(ctx); err != nil {
			return false, err
		}
		drainQueues(ctx)
		now := observeActivity()
		var enough bool
		if rests, enough = now.settled(before, cycle, time.Since(begun)); enough {
			break
		}
		before = now
		giveWay(cycle)
	}
	return rests, nil
}

// giveWay gives a goroutine that has just been told to end its moment. After the first collection,
// which is the only time that it is called in programs at rest, it does not sleep, since that takes a
// millisecond at least where nothing else runs: one processor yields for a tenth of that, and the
// others go on. With one processor alone nobody would look after the network poller.
func giveWay(cycle int) {
	moment := time.Duration(cycle) * 100 * time.Microsecond
	if cycle > 1 || runtime.GOMAXPROCS(0) == 1 {
		time.Sleep(moment)
		return
	}
	// In a bubble of testing/synctest the clock stands still: hence the bound.
	const enough = 1000
	for begun, n := time.Now(), 0; n < enough && time.Since(begun) < moment; n++ {
		runtime.Gosched()
	}
}

// activity is what a program at rest does not do.
type activity struct {
	allocated  uint64 // objects, so far
	fallenDue  uint64 // finalizers and cleanups, so far, but those that watch collections
	waiting    bool   // some of those have not run
	goroutines int
}

// ownAllocations bounds what collect allocates: a goroutine and what starts it, what it is waited
// for with, and a timer.
const ownAllocations = 16

func (a activity) quietSince(before activity) bool {
	return a.allocated-before.allocated <= ownAllocations && a.fallenDue == before.fallenDue && !a.waiting &&
		a.goroutines == before.goroutines
}

// settled reports whether a program rests after so many collections, which took so long, and
// whether these were enough. After those that everything gets, further ones bring rest where
// something fell due, or a goroutine began or ended. Where a program does nothing but allocate they
// give it time to end, of which long collections give enough.
func (a activity) settled(before activity, cycle int, took time.Duration) (rests, enough bool) {
	rests = cycle >= minCycles && a.quietSince(before)
	allocations := before
	allocations.allocated = a.allocated
	onlyAllocates := a.quietSince(allocations)
	return rests, rests || cycle >= maxCycles || cycle > minCycles && took > longEnough && onlyAllocates
}

// metricsRead is read in place, so that the reading allocates nothing. Captures take turns.
var metricsRead = [...]metrics.Sample{
	{Name: "/gc/heap/allocs:objects"},
	{Name: "/gc/finalizers/queued:finalizers"},
	{Name: "/gc/cleanups/queued:cleanups"},
	{Name: "/gc/finalizers/executed:finalizers"},
	{Name: "/gc/cleanups/executed:cleanups"},
}

func observeActivity() activity {
	metrics.Read(metricsRead[:])
	value := func(i int) uint64 {
		if v := metricsRead[i].Value; v.Kind() == metrics.KindUint64 {
			return v.Uint64()
		}
		return 0
	}
	return activity{
		allocated:  value(0),
		fallenDue:  value(1) + value(2) - gcwatch.Notified(),
		waiting:    value(1) != value(3) || value(2) != value(4),
		goroutines: runtime.NumGoroutine(),
	}
}

// drainQueues waits until the finalizers and cleanups that are due have run.
func drainQueues(ctx context.Context) {
	wait := 20 * time.Microsecond
	for deadline := time.Now().Add(maxQueueWait); observeActivity().waiting && ctx.Err() == nil && time.Now().Before(deadline); {
		time.Sleep(wait)
		wait *= 2
	}
}
