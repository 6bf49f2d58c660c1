package refscan

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
)

const (
	// maxCycles bounds the garbage collections of one settling. Two empty the sync.Pools
	// (go1.26 sync/pool.go, poolCleanup), an object with a finalizer needs two, and what such an object
	// held alone one more.
	maxCycles = 10
	// maxQueueWait bounds the wait for finalizers and cleanups after each collection.
	maxQueueWait = 100 * time.Millisecond
	// maxCollect bounds one collection: runtime.GC yields to runnable goroutines while it sweeps, and
	// takes minutes when more of them spin than there are processors.
	maxCollect = 20 * time.Second
)

// settle brings the heap to rest: it collects garbage until neither the live heap nor the number of
// goroutines changes any more, and lets finalizers, cleanups and ending goroutines run in
// between. It is bounded; a program that never rests is taken as it is.
func settle(ctx context.Context) (rests bool, err error) {
	before := atRest{}
	for cycle := 1; ; cycle++ {
		if err := collect(ctx); err != nil {
			return false, err
		}
		drainQueues(ctx)
		now := measureRest()
		rests = cycle >= 3 && now == before
		if rests || cycle == maxCycles {
			break
		}
		before = now
		// A goroutine that has just been told to end gets its moment.
		time.Sleep(time.Duration(cycle) * 100 * time.Microsecond)
	}
	return rests, nil
}

// atRest is what must not change any more.
type atRest struct {
	objects    uint64
	goroutines int
}

const (
	metricObjects          = "/gc/heap/objects:objects"
	metricFinalizersQueued = "/gc/finalizers/queued:finalizers"
	metricFinalizersRun    = "/gc/finalizers/executed:finalizers"
	metricCleanupsQueued   = "/gc/cleanups/queued:cleanups"
	metricCleanupsRun      = "/gc/cleanups/executed:cleanups"
)

func measureRest() atRest {
	sample := []metrics.Sample{{Name: metricObjects}}
	metrics.Read(sample)
	return atRest{uint64Of(sample[0]), runtime.NumGoroutine()}
}

func uint64Of(s metrics.Sample) uint64 {
	if s.Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s.Value.Uint64()
}

// drainQueues waits until the finalizers and cleanups that are due have run.
func drainQueues(ctx context.Context) {
	sample := []metrics.Sample{
		{Name: metricFinalizersQueued},
		{Name: metricFinalizersRun},
		{Name: metricCleanupsQueued},
		{Name: metricCleanupsRun},
	}
	wait := 20 * time.Microsecond
	for deadline := time.Now().Add(maxQueueWait); ctx.Err() == nil && time.Now().Before(deadline); {
		metrics.Read(sample)
		if uint64Of(sample[0]) == uint64Of(sample[1]) && uint64Of(sample[2]) == uint64Of(sample[3]) {
			return
		}
		time.Sleep(wait)
		wait *= 2
	}
}

// collecting is what collect waits with. It is kept, so that the wait leaves no garbage that the
// collection would find alive and the scan dead. It is made before any test runs: what is made in a
// bubble of testing/synctest must not be used outside of it, on pain of a fatal error. Captures take
// turns, so that nobody shares it.
var collecting = struct {
	done  chan int // numbers of rounds
	round int
	timer *time.Timer
}{done: make(chan int, 4), timer: time.NewTimer(time.Hour)}

// Collect runs one garbage collection, as runtime.GC does, but gives up with an *UnavailableError after 20
// seconds or when ctx is done: runtime.GC takes minutes when more goroutines spin than there are processors.
// It takes turns with captures.
func Collect(ctx context.Context) error {
	captures.Lock()
	defer captures.Unlock()
	return collect(ctx)
}

// collect runs a garbage collection, for a bounded time.
func collect(ctx context.Context) error {
	c := &collecting
	c.round++
	c.timer.Reset(maxCollect)
	defer c.timer.Stop()
	go collectInto(c.done, c.round)
	for {
		select {
		case round := <-c.done:
			if round != c.round {
				continue // one that took too long
			}
			return nil
		case <-ctx.Done():
			return &UnavailableError{Cause: "the wait for a garbage collection was cut short", Err: ctx.Err()}
		case <-c.timer.C:
			return &UnavailableError{
				Cause:  fmt.Sprintf("a garbage collection did not finish in %s", maxCollect),
				Remedy: "stop goroutines that spin before the assertion, or raise GOMAXPROCS above their number",
			}
		}
	}
}

func collectInto(done chan<- int, round int) {
	runtime.GC()
	done <- round
}
