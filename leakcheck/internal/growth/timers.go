package growth

import (
	"slices"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
)

// An operation may leave work to timers: it sets one, or starts a goroutine that sleeps. What they
// leave behind grows with the number of calls only if they have fired when it is counted. So a
// batch ends when the timers have fired that its calls have set, if that takes no longer than
// assertion.MaxTimerWait.
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
	before int           // timers that were about to fire before the first call
	known  []uint64      // those that were set before the first call, and may work for many calls
	shared bool          // timers work for many calls: batches end when those have fired
	waited time.Duration // in all
	stay   bool          // they took too long: they are waited for no more
}

const (
	minTimers = 2 // fewer may be set by chance
	// maxSharedWait is how long a timer is waited for that may work for many calls. Batches of
	// spans, log lines and metrics are commonly written every five seconds and more often.
	maxSharedWait = 5500 * time.Millisecond
	maxKnown      = 1000 // timers; a program that sets more has not one for many calls
	// farTimer is from when on a timer is not named in the log of a pass.
	farTimer = time.Minute
)

func (x *Experiment) eachTimer(visit func(proof.Timer)) {
	if x.watchers.Timers == nil {
		return
	}
	ctx, cancel := x.Time.Context()
	defer cancel()
	x.watchers.Timers(ctx, visit)
}

// noteTimers notes which timers are set before the first call.
func (x *Experiment) noteTimers() {
	x.timers.shared = x.Req.Full || x.Env.Full
	x.timers.before = x.dueTimers().soon // the first look takes long, and maps memory
	x.eachTimer(func(t proof.Timer) {
		if t.In <= maxSharedWait && len(x.timers.known) < maxKnown {
			x.timers.known = append(x.timers.known, t.Address)
		}
	})
	if len(x.timers.known) == maxKnown {
		x.timers.known = nil
	}
}

// due is how many timers are about to fire that have been set since the first call, and in how long
// the last of them does; in how long the last timer fires that may work for many calls, 0 if none
// is set; and in how long the first fires that is not waited for.
type due struct {
	soon              int
	last, shared, far time.Duration
}

// dueTimers looks at the timers that are set. Any that is about to fire may work for many calls,
// and of those that take up to maxSharedWait the ones that repeat or were set before the first
// call, and all if batches end after such timers.
func (x *Experiment) dueTimers() due {
	d := due{soon: -x.timers.before, far: farTimer}
	x.eachTimer(func(t proof.Timer) {
		soon := t.In <= assertion.MaxTimerWait
		if soon && !t.Repeats {
			d.soon++
			d.last = max(d.last, t.In)
		}
		shared := soon || t.In <= maxSharedWait && (x.timers.shared || t.Repeats || slices.Contains(x.timers.known, t.Address))
		if shared {
			d.shared = max(d.shared, t.In)
		}
		if !shared || !x.timers.shared {
			d.far = min(d.far, t.In)
		}
	})
	return d
}

// awaitTimers waits until the timers have fired that so many calls have set.
func (x *Experiment) awaitTimers(calls int) {
	least := max(minTimers, int(series.MinGrownPerCall*float64(calls)))
	waited := time.Duration(0)
	for !x.timers.stay && !x.op.ended() {
		d := x.dueTimers()
		if d.soon < least {
			break
		}
		if waited += d.last; waited > assertion.MaxTimerWait {
			x.timers.stay = true
		}
		if x.timers.stay || !x.Time.Allows(d.last+x.op.after) {
			break
		}
		x.awaitTimer(d.last)
	}
	if x.timers.shared && !x.op.ended() {
		x.awaitShared()
	}
}

// awaitShared waits until each timer has fired that may work for many calls. It reports whether
// there was one, and time for it. If there was no time and batches are to end after such a timer,
// the experiment cannot go on.
func (x *Experiment) awaitShared() bool {
	in := x.dueTimers().shared
	if in == 0 {
		return false
	}
	if !x.Time.Allows(in + x.op.after) {
		x.op.late = x.timers.shared
		return false
	}
	x.awaitTimer(in)
	return true
}

// hasLeft reports whether half of some growth since first is not where it was before. Of bytes
// those in use count: an array that was emptied stays where it is.
func hasLeft(g *finding.Growth, first, before, now *history.Snapshot) bool {
	return slices.ContainsFunc(g.Leaks, func(l *finding.Leak) bool {
		if len(l.Heads) == 0 {
			return false
		}
		key, by := l.Heads[0].GrowthKey(), l.Measure
		if by == history.InBytes {
			by = history.InUse
		}
		was := before.Figures()[key][by]
		grown := was - first.Figures()[key][by]
		return grown > 0 && was-now.Figures()[key][by] > grown/2
	})
}

func (x *Experiment) awaitTimer(in time.Duration) {
	x.Sleep(in + time.Millisecond)
	x.timers.waited += in
	x.awaitIdle()
}

// timerNotes says how long timers were waited for, if long, and whether a pass has not waited for
// some that may work for calls later.
func (x *Experiment) timerNotes(pass bool) (notes []string) {
	if x.timers.waited >= batchTime {
		notes = append(notes, "waited "+rounded(x.timers.waited)+" for timers that were about to fire")
	}
	if pass && x.timers.stay {
		notes = append(notes, "op sets timers that take more than "+rounded(assertion.MaxTimerWait)+", one after the other: what they leave later does not count")
	}
	if in := x.dueTimers().far; pass && in < farTimer {
		how := "let op wait for it"
		if in <= maxSharedWait && !x.timers.shared {
			how = "Full waits for it"
		}
		notes = append(notes, "a timer or a ticker is due in "+rounded(in)+": if it does work then that calls of op have left to it, this does not count; "+how)
	}
	return notes
}

func rounded(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }
