package growth

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/symbol"
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
	// minRecords is how many objects of each leak recorded calls leave, if each call leaves the
	// same number. Small values share blocks of 16 bytes, of which one is recorded.
	minRecords = 64
)

// recordBatch runs a batch, and records the allocations of its first calls. Later heap profiles of
// this process overstate what these calls leave: they count each record as one sample in
// MemProfileRate bytes. So the profile from before the batch is the one to keep.
//
// It runs an ordinary batch if the profiler is off or records everything already, and if go test
// writes a memory profile at the end, which these records would distort. It returns how often each
// stack had allocated before; nil unless makers of resources are wanted.
func (x *Experiment) recordBatch(n int) (before allocations) {
	if runtime.MemProfileRate <= 1 || x.Env.MemProfile {
		x.runBatch(n)
		return nil
	}
	x.words.Recorded = x.past.Last()
	if len(x.products()) > 0 {
		before = countAllocations()
	}
	enough := x.enoughRecorded(n)
	x.runBatchWith(n, func() { x.words.RecordedCalls = x.record(n, enough) })
	x.words.RecordedAll = x.words.RecordedCalls >= enough
	return before
}

// record calls op n times. The memory profiler records each allocation until that many calls are
// enough, or recordTime has passed. record returns how many calls were recorded to their end. The
// bubble of a test has no timer for the system's time, so that there a call is recorded to its end.
func (x *Experiment) record(n, enough int) (recorded int) {
	undo, limit := observe.SetMemProfileRate(1), min(recordTime, x.Time.Left()/4)
	var over atomic.Bool
	end := sync.OnceFunc(func() {
		undo()
		over.Store(true)
	})
	defer end()
	if !realtime.InBubble() {
		defer time.AfterFunc(limit, end).Stop()
	}
	start := x.Now()
	x.call(n, func() {
		if over.Load() {
			return
		}
		recorded++
		if spent := x.Now().Sub(start); spent > limit || spent > freeTime && recorded >= enough {
			end()
		}
	})
	return recorded
}

// enoughRecorded returns how many calls of a batch leave minRecords objects of each leak, at most
// n. The array of a slice, whose bytes grow, may be allocated in any call, and so may the blocks of
// a map by pointers, whose stacks tell who adds entries for objects that others make.
func (x *Experiment) enoughRecorded(n int) int {
	enough := 0
	for _, l := range x.finder.Growth().Leaks {
		own := x.seriesOf(l)
		c := l.Container()
		if !own.IsExact() || isOfArrays(l) || c != nil && symbol.IsMapByPointers(c.Typ) {
			return n
		}
		enough = max(enough, int(math.Ceil(minRecords/own.PerCall())))
	}
	return min(n, enough)
}
