package snapshot

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/internal/engine/freeze"
)

// maxCollect bounds one collection: runtime.GC yields to runnable goroutines while it sweeps, and
// takes minutes when more of them spin than there are processors.
const maxCollect = 20 * time.Second

// collecting is what collect waits with. It is kept, so that the wait leaves no garbage that the
// collection would find alive and the scan dead. It is made before any test runs: what is made in a
// bubble of testing/synctest must not be used outside of it, on pain of a fatal error. Captures
// take turns, so that nobody shares it.
var collecting = struct {
	done  chan int64 // numbers of rounds
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

// CollectNow is Collect for those whose turn it is. While a small heap is collected, the program has
// one processor: runtime.GC yields after each span that it sweeps, for which the runtime wakes another
// processor each time, in vain (go1.26 and go1.27 runtime/mgc.go, GC; proc.go, goschedImpl). With half
// a megabyte of heap that takes 1.4 ms of two processors, and 0.12 ms of one.
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
	crowded = time.Now() // goroutines of the program's own spin, or the machine is busy
	return awaitCollection(ctx)
}

const (
	// maxAlone is how long a program is left one processor to collect garbage.
	maxAlone = 50 * time.Millisecond
	// crowdedFor is how long it is not tried again where a collection took longer.
	crowdedFor = time.Second
	// smallHeap is what one processor marks as fast as several.
	smallHeap = 4 << 20
	// fewGoroutines have stacks that it scans as fast.
	fewGoroutines = 1000
)

// crowded is when a collection took one processor too long. Captures take turns.
var crowded time.Time

// beforeRead is read in place; captures take turns.
var beforeRead = [...]metrics.Sample{
	{Name: "/gc/heap/live:bytes"},
	{Name: "/gc/cleanups/queued:cleanups"},
	{Name: "/gc/cleanups/executed:cleanups"},
}

// worthOneProcessor reports whether one processor collects garbage as fast as several, by what the
// last collection found alive. Processors gather cleanups that are due in blocks of their own, which
// the end of a collection has run, but for those of a processor that is not there (go1.26 and go1.27
// runtime/mcleanup.go, flush; proc.go, destroy): while some have not run, all processors stay.
func worthOneProcessor() bool {
	if runtime.NumGoroutine() > fewGoroutines || time.Since(crowded) < crowdedFor {
		return false
	}
	metrics.Read(beforeRead[:])
	live, queued, executed := beforeRead[0].Value, beforeRead[1].Value, beforeRead[2].Value
	if queued.Kind() == metrics.KindUint64 && queued.Uint64() != executed.Uint64() {
		return false
	}
	return live.Kind() == metrics.KindUint64 && live.Uint64() <= smallHeap
}

// beginCollection has a garbage collection begin; awaitCollection must be called for each.
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

// awaitEnd reports whether the collection that was begun last has ended before so much time is over.
func awaitEnd(ctx context.Context, limit time.Duration) (ended bool, err error) {
	c := &collecting
	c.timer.Reset(limit)
	defer c.timer.Stop()
	for {
		select {
		case round := <-c.done:
			if round == c.round.Load() {
				return true, nil
			} // else it is one that took too long
		case <-ctx.Done():
			return false, &Unavailable{Cause: "the wait for a garbage collection was cut short", Err: ctx.Err()}
		case <-c.timer.C:
			return false, nil
		}
	}
}

// collectNow takes no arguments, since these would be an object that each collection finds alive. If
// it begins late, it stands for a later round, which it is a collection for all the same.
func collectNow() {
	round := collecting.round.Load()
	runtime.GC()
	collecting.done <- round
}
