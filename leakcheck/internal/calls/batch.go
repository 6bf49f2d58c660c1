package calls

import (
	"math"
	"time"
)

const (
	// MaxBatch is the maximum number of calls in the first batch. BatchTime bounds the duration of
	// that batch, unless MinBatch calls take longer.
	MaxBatch  = 250
	MinBatch  = 5
	BatchTime = 25 * time.Millisecond
)

// BatchSize returns the number of calls in the first batch, given the duration of one call.
func BatchSize(op time.Duration) int {
	switch {
	case op > 500*time.Millisecond:
		return 2
	case op > 50*time.Millisecond:
		return 3
	}
	return int(min(MaxBatch, max(MinBatch, BatchTime/max(op, 1))))
}

// Batch runs a batch of n calls, which run makes. It ends when the timers have fired that they have
// set.
func (r *Runner) Batch(n int, run func()) {
	end, before := r.mapped.measure(), r.Spent
	run()
	r.AwaitTimers(n)
	end()
	r.Last = (r.Spent - before) / time.Duration(n)
}

// Measure measures the anonymous memory that calls map until end is called.
func (r *Runner) Measure() (end func()) { return r.mapped.measure() }

// A WarmUp is how often op is called before the first batch.
type WarmUp struct {
	Calls int // 0: it depends on how long op takes
	Batch int // calls of the first batch; 0: it depends on how long op takes
	Parts int // the warm-up uses no more than one part of the room below limits, of so many
}

// WarmUp calls op at least twice (once if w.Calls is 1) and returns the size of the first batch.
// Unless op is slow, it makes as many calls as that batch has: memory that is allocated in steps,
// each twice as large as the one before, then grows in each batch.
func (r *Runner) WarmUp(w WarmUp) int {
	end := r.mapped.measure()
	best := time.Duration(math.MaxInt64)
	timed := 2 // the first call may set up what all others use
	if w.Calls == 1 {
		timed = 1
	}
	for range timed {
		before := r.Spent
		r.Call(1, nil)
		best = min(best, r.Spent-before)
	}
	batch := BatchSize(best)
	if w.Batch > 0 {
		batch = w.Batch
	}
	switch {
	case w.Calls > 0:
		r.callBelowLimits(w.Calls-timed, w)
	case best*time.Duration(batch) <= 2*BatchTime:
		if later := r.callBelowLimits(batch-timed, w); later > 0 {
			batch = min(batch, BatchSize(best+later))
		}
	}
	r.AwaitTimers(int(r.Calls))
	end()
	return batch
}

// more returns how many of the n calls that are left the warm-up makes next, after those that were
// made. There is room for so many more.
func (w WarmUp) more(n, called, room int) int {
	return min(n, called, (room-(w.Parts-1)*called)/w.Parts)
}

// callBelowLimits calls op n times, or less often if the batches would have no room below a limit,
// or, unless the number is the user's, if calls leave much work to other goroutines. It looks at
// both each time the number of calls has doubled, and returns how long that work takes for a call;
// 0: not long.
func (r *Runner) callBelowLimits(n int, w WarmUp) (later time.Duration) {
	for n > 0 && r.end == GoesOn {
		k := w.more(n, int(r.Calls), r.Room())
		r.Say()
		if k <= 0 {
			break
		}
		if waited := r.Call(k, nil); waited > 0 && w.Calls == 0 && w.Batch == 0 {
			return waited / time.Duration(k)
		}
		n -= k
	}
	return 0
}
