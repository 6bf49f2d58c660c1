package growth

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// In the batch that confirms a leak, the memory profiler records each allocation, so that the
// message can say where the growing objects are allocated. Where op allocates a lot, with deep
// stacks, a call then takes a hundred times as long. So no more calls are recorded than it takes to
// see each leak, and none after recordTime.
const (
	recordTime = 2 * time.Second
	// All calls are recorded for this long, however few would do: then nothing is left out of the
	// figures of most messages.
	freeTime = 500 * time.Millisecond
)

// record calls op n times. The memory profiler records each allocation until that many calls are
// enough, or recordTime has passed. record returns how many calls were recorded to their end. The
// bubble of a test has no timer for the system's time, so that there a call is recorded to its end.
func record(a *assertion.Assertion, run *calls.Runner, n, enough int) (recorded int) {
	undo, limit := observe.SetMemProfileRate(1), min(recordTime, a.Time.Left()/4)
	var over atomic.Bool
	end := sync.OnceFunc(func() {
		undo()
		over.Store(true)
	})
	defer end()
	if !realtime.InBubble() {
		defer time.AfterFunc(limit, end).Stop()
	}
	start := a.Now()
	run.Call(n, func() {
		if over.Load() {
			return
		}
		recorded++
		if spent := a.Now().Sub(start); spent > limit || spent > freeTime && recorded >= enough {
			end()
		}
	})
	return recorded
}
