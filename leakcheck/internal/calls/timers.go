package calls

import (
	"slices"
	"time"
)

// An operation may leave work to timers: it sets one, or starts a goroutine that sleeps. What they
// leave behind grows with the number of calls only if they have fired when it is counted. So a
// batch ends when the timers have fired that its calls have set, if that takes no longer than
// Setup.TimerWait.
//
// One timer may also do the work of many calls: that of a goroutine that writes or deletes each
// second what calls have collected until then. Between two such moments a collection looks like a
// leak. So growth is reported only if it outlasts the next of these moments. If it does not, what
// was collected may have moved to another place, where it stays. Then the experiment begins anew,
// with batches that end after such a moment. Calls that only count, or fill a buffer, leave nothing
// until that moment. Full asks for batches that end after it from the beginning; without Full, the
// log of a pass says that such a timer was not waited for.

// timers is what is known of timers.
type timers struct {
	setup  *Setup
	before int           // timers that were about to fire before the first call
	known  []uint64      // those that were set before the first call, and may work for many calls
	shared bool          // timers work for many calls: batches end when those have fired
	waited time.Duration // in all
	gaveUp bool          // they took too long: they are waited for no more
}

const (
	minTimers = 2 // fewer may be set by chance
	// MaxSharedWait is how long a timer is waited for that may work for many calls. Batches of
	// spans, log lines and metrics are commonly written every five seconds and more often.
	MaxSharedWait = 5500 * time.Millisecond
	maxKnown      = 1000 // timers; a program that sets more has not one for many calls
	// FarTimer is from when on a timer is of no interest.
	FarTimer = time.Minute
)

func (t *timers) each(visit func(Timer)) {
	if t.setup.Timers == nil {
		return
	}
	ctx, cancel := t.setup.Time.Context()
	defer cancel()
	t.setup.Timers(ctx, visit)
}

// due is how many timers are about to fire that have been set since the first call, and in how long
// the last of them does; in how long the last timer fires that may work for many calls, 0 if none
// is set; and in how long the first fires that is not waited for.
type due struct {
	soon              int
	last, shared, far time.Duration
}

// due looks at the timers that are set. Any that is about to fire may work for many calls,
// and of those that take up to MaxSharedWait the ones that repeat or were set before the first
// call, and all if batches end after such timers.
func (t *timers) due() due {
	d := due{soon: -t.before, far: FarTimer}
	t.each(func(one Timer) {
		soon := one.In <= t.setup.TimerWait
		if soon && !one.Repeats {
			d.soon++
			d.last = max(d.last, one.In)
		}
		shared := soon || one.In <= MaxSharedWait && (t.shared || one.Repeats || slices.Contains(t.known, one.Address))
		if shared {
			d.shared = max(d.shared, one.In)
		}
		if !shared || !t.shared {
			d.far = min(d.far, one.In)
		}
	})
	return d
}
