package growth

import (
	"fmt"
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
)

// An operation may leave work to timers: it sets one, or starts a goroutine that sleeps. What they
// leave behind grows with the number of calls only if they have fired when it is counted. So a
// batch ends when the timers have fired that its calls have set, if that takes no longer than
// assertion.MaxTimerWait.

// timers is what is known of timers that calls have set.
type timers struct {
	before int           // timers that were about to fire before the first call
	waited time.Duration // for timers of calls, in all
	stay   bool          // as many are set again, or they took too long: they are waited for no more
}

const (
	minTimers = 2 // fewer may be set by chance
	// maxSetAgain is how often timers are waited for whose number does not fall: those that have
	// fired may have set others.
	maxSetAgain = 3
)

// dueTimers returns how many timers are about to fire that have been set since the first call, and
// in how long the last of them does.
func (x *Experiment) dueTimers() (n int, last time.Duration) {
	if x.watchers.Timers == nil {
		return 0, 0
	}
	ctx, cancel := x.Time.Context()
	defer cancel()
	n, last = x.watchers.Timers(ctx, assertion.MaxTimerWait)
	return n - x.timers.before, last
}

// awaitTimers waits until the timers have fired that so many calls have set.
func (x *Experiment) awaitTimers(calls int) {
	least := max(minTimers, int(series.MinGrownPerCall*float64(calls)))
	waited, again, before := time.Duration(0), 0, 0
	for !x.timers.stay && !x.op.ended() {
		n, last := x.dueTimers()
		if n < least {
			break
		}
		if n < before {
			again = 0
		}
		again++
		if waited += last; again > maxSetAgain || waited > assertion.MaxTimerWait || !x.Time.Allows(last+x.op.after) {
			x.timers.stay = true
			break
		}
		before = n
		x.Sleep(last + time.Millisecond)
		x.timers.waited += last
		x.awaitIdle()
	}
}

// note says how long timers were waited for, "" if not long.
func (t *timers) note() string {
	if t.waited < batchTime {
		return ""
	}
	return fmt.Sprintf("waited %s for timers that calls of op had set", t.waited.Round(10*time.Millisecond))
}
