package snapshot

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/realtime"
)

// maxCollect bounds one collection: runtime.GC yields to runnable goroutines while it sweeps, and
// takes minutes if more goroutines spin than there are processors.
const maxCollect = 20 * time.Second

// collecting is the channel and the timer with which a collection is waited for. They are reused:
// if the wait made new ones, the collection would find them alive and the scan dead. They are made
// before any test runs: what is made in a bubble of testing/synctest must not be used outside of
// it, on pain of a fatal error. Captures take turns, so that no two goroutines share them.
var collecting = struct {
	done  chan int64 // numbers of rounds that have ended
	round atomic.Int64
	timer *time.Timer
}{done: make(chan int64, 4), timer: time.NewTimer(time.Hour)}

// Collect runs one garbage collection, as runtime.GC does, but gives up with an *Unavailable
// after 20 seconds or when ctx is done: runtime.GC takes minutes when more goroutines spin than
// there are processors. It takes turns with captures.
func Collect(ctx context.Context) error {
	captures.Lock()
	defer captures.Unlock()
	if err := CheckSettings(); err != nil {
		return err
	}
	return CollectNow(ctx)
}

// CollectNow is Collect for callers whose turn it is. While it collects a small heap, the program
// has one processor: runtime.GC yields after each span that it sweeps, and the runtime wakes
// another processor each time, in vain (go1.26 and go1.27 runtime/mgc.go, GC; proc.go,
// goschedImpl). With half a megabyte of heap a collection takes 1.4 ms of two processors, and 0.12
// ms of one.
func CollectNow(ctx context.Context) error {
	if !worthOneProcessor() {
		beginCollection()
		return awaitCollection(ctx)
	}
	var ended bool
	var err error
	freeze.OnOneProcessor(func() {
		beginCollection()
		ended, err = awaitEnd(ctx, maxAlone)
	})
	if ended || err != nil {
		return err
	}
	allProcessorsUntil = realtime.Clock() + slowFor // goroutines of the program's own spin, or the machine is busy
	return awaitCollection(ctx)
}

const (
	// maxAlone is how long a program has only one processor to collect garbage.
	maxAlone = 50 * time.Millisecond
	// slowFor is how long CollectNow leaves all processors after a collection that took longer.
	slowFor = time.Second
	// smallHeap is the size up to which one processor marks a heap as fast as several.
	smallHeap = 4 << 20
	// fewGoroutines is the number up to which one processor scans the stacks as fast as several.
	fewGoroutines = 1000
)

// allProcessorsUntil is the time by realtime.Clock until which CollectNow leaves the program all
// processors. Captures take turns.
var allProcessorsUntil time.Duration

// metrics.Read writes to beforeRead in place; captures take turns.
var beforeRead = [...]metrics.Sample{
	{Name: "/gc/heap/live:bytes"},
	{Name: "/gc/cleanups/queued:cleanups"},
	{Name: "/gc/cleanups/executed:cleanups"},
}

// worthOneProcessor reports whether one processor collects garbage as fast as several, by the size
// of the heap that the last collection found alive. Each processor gathers cleanups that are due in
// a block of its own. The end of a collection has these blocks run, but not the block of a
// processor that was taken away (go1.26 and go1.27 runtime/mcleanup.go, flush; proc.go, destroy).
// So all processors stay while some cleanups have not run.
func worthOneProcessor() bool {
	if runtime.NumGoroutine() > fewGoroutines || realtime.Clock() < allProcessorsUntil {
		return false
	}
	metrics.Read(beforeRead[:])
	live, queued, executed := beforeRead[0].Value, beforeRead[1].Value, beforeRead[2].Value
	if queued.Kind() == metrics.KindUint64 && queued.Uint64() != executed.Uint64() {
		return false
	}
	return live.Kind() == metrics.KindUint64 && live.Uint64() <= smallHeap
}

// beginCollection starts a garbage collection; the caller must call awaitCollection for each.
func beginCollection() {
	collecting.round.Add(1)
	go collectNow()
}

// awaitCollection waits for the collection that was begun last, for a bounded time.
func awaitCollection(ctx context.Context) error {
	ended, err := awaitEnd(ctx, maxCollect)
	if ended || err != nil {
		return err
	}
	return &Unavailable{
		Cause:  fmt.Sprintf("a garbage collection did not finish in %s", maxCollect),
		Remedy: "stop goroutines that spin before the assertion, or raise GOMAXPROCS above their number",
	}
}

// awaitEnd reports whether the collection that was begun last ends within limit.
func awaitEnd(ctx context.Context, limit time.Duration) (ended bool, err error) {
	c := &collecting
	c.timer.Reset(limit)
	defer c.timer.Stop()
	for {
		select {
		case round := <-c.done:
			if round == c.round.Load() {
				return true, nil
			} // else an earlier collection that took too long has ended
		case <-ctx.Done():
			return false, &Unavailable{
				Cause:  "the wait for a garbage collection was cut short",
				Remedy: "allow it more time (go test -timeout), or let the test take less",
				Err:    ctx.Err(),
			}
		case <-c.timer.C:
			return false, nil
		}
	}
}

// collectNow takes no arguments, since they would be an object that each collection finds alive. If
// its goroutine starts late, it reads the number of a later round, and its collection serves that
// round.
func collectNow() {
	round := collecting.round.Load()
	runtime.GC()
	collecting.done <- round
}
