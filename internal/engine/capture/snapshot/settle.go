package snapshot

import (
	"context"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/engine/runtime/gcwatch"
	"github.com/leakgate/leakgate/internal/realtime"
)

const (
	// minCycles is how many garbage collections settle runs at least: two empty the sync.Pools
	// (go1.26 sync/pool.go, poolCleanup).
	minCycles = 2
	// maxCycles bounds the collections. An object with a finalizer needs two, and objects that only
	// such an object held need one more.
	maxCycles = 10
	// longEnough is the time that a program that does nothing but allocate gets to come to rest.
	// Ten collections of a small heap take less.
	longEnough = time.Second
	// maxQueueWait bounds the wait for finalizers and cleanups after each collection.
	maxQueueWait = 100 * time.Millisecond
)

// settle brings the heap to rest: it collects garbage until nothing happens from one collection to
// the next, and lets finalizers, cleanups and other goroutines run in between. Nothing happens if
// no finalizer or cleanup fell due, no goroutine began or ended, and nothing was allocated but the
// few objects that collecting itself takes. Objects that the second collection finds dead do not
// count: a sync.Pool gives up its contents that way, all at once. The number of collections is
// bounded. settle gives up on a program that never rests, and sooner if collections take long and
// the program does nothing but allocate.
//
// Nothing is allocated between the collection after which the program rests and the return of
// settle, so no further collection is needed.
func settle(ctx context.Context) (rests bool, err error) {
	begun := realtime.Clock()
	before := observeActivity() // the first use of package metrics allocates
	for cycle := 1; ; cycle++ {
		if err := CollectNow(ctx); err != nil {
			return false, err
		}
		drainQueues(ctx)
		if cycle >= minCycles { // before, it would only cost time
			AwaitIdle(func() bool { return ctx.Err() != nil })
		}
		now := observeActivity()
		var enough bool
		if rests, enough = now.settled(&before, cycle, realtime.Clock()-begun); enough {
			break
		}
		before = now
		giveWay(cycle)
	}
	return rests, nil
}

// giveWay gives goroutines that have just been told to end a moment to do so. Programs at rest call
// it only after the first collection. It does not sleep then, since a sleep takes at least a
// millisecond if nothing else runs: one processor yields for a tenth of that, and the others go on.
// With one processor it sleeps, since no other processor would look after the network poller.
func giveWay(cycle int) {
	moment := time.Duration(cycle) * 100 * time.Microsecond
	if cycle > 1 || runtime.GOMAXPROCS(0) == 1 {
		realtime.Sleep(moment)
		return
	}
	for end := realtime.Clock() + moment; realtime.Clock() < end; {
		runtime.Gosched()
	}
}

// activity sums up what changes while a program is not at rest.
type activity struct {
	allocated  uint64 // objects, so far
	fallenDue  uint64 // finalizers and cleanups, so far, except those that watch collections
	waiting    bool   // some of them have not run
	running    uint64 // other goroutines that run, or are about to, but for those without an end
	restless   bool   // goroutines run without an end
	goroutines int
}

// ownAllocations bounds the objects that CollectNow allocates: a goroutine and what starts it, what
// it is waited for with, and a timer.
const ownAllocations = 16

func (a *activity) quietSince(before *activity) bool {
	return a.allocated-before.allocated <= ownAllocations && a.fallenDue == before.fallenDue && !a.waiting &&
		a.goroutines == before.goroutines
}

// settled reports whether a program rests after a number of collections that took a time together,
// and whether further collections are of no use. After the first minCycles, further ones bring rest
// if something fell due, or a goroutine began or ended. If a program does nothing but allocate,
// they only give it time to end, and long collections give enough.
func (a *activity) settled(before *activity, cycle int, took time.Duration) (rests, enough bool) {
	rests = cycle >= minCycles && a.quietSince(before)
	allocations := *before
	allocations.allocated = a.allocated
	onlyAllocates := a.quietSince(&allocations)
	return rests, rests || cycle >= maxCycles || cycle > minCycles && took > longEnough && onlyAllocates
}

// metricsRead is what observeActivity reads. Package metrics writes to it in place, so that nothing
// is allocated.
var metricsRead = struct {
	sync.Mutex
	samples [7]metrics.Sample
}{samples: [...]metrics.Sample{
	{Name: "/gc/heap/allocs:objects"},
	{Name: "/gc/finalizers/queued:finalizers"},
	{Name: "/gc/cleanups/queued:cleanups"},
	{Name: "/gc/finalizers/executed:finalizers"},
	{Name: "/gc/cleanups/executed:cleanups"},
	// since go1.26 (runtime/metrics.go)
	{Name: "/sched/goroutines/running:goroutines"},
	{Name: "/sched/goroutines/runnable:goroutines"},
}}

func observeActivity() activity {
	read := &metricsRead
	read.Lock()
	defer read.Unlock()
	metrics.Read(read.samples[:])
	value := func(i int) uint64 {
		if v := read.samples[i].Value; v.Kind() == metrics.KindUint64 {
			return v.Uint64()
		}
		return 0
	}
	running := max(value(5)+value(6), 1) - 1 // the caller runs, too
	idle := min(restless.Load(), running)
	restless.Store(idle)
	return activity{
		allocated:  value(0),
		fallenDue:  value(1) + value(2) - gcwatch.Notified(),
		waiting:    value(1) != value(3) || value(2) != value(4),
		running:    running - idle,
		restless:   idle > 0,
		goroutines: runtime.NumGoroutine(),
	}
}

// drainQueues waits until the finalizers and cleanups that are due have run.
func drainQueues(ctx context.Context) {
	wait := 20 * time.Microsecond
	for deadline := realtime.Clock() + maxQueueWait; observeActivity().waiting && ctx.Err() == nil && realtime.Clock() < deadline; {
		realtime.Sleep(wait)
		wait *= 2
	}
}
