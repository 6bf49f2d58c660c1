package calls

import "time"

// NoteTimers notes which timers are set before the first call. With shared, batches end when timers
// have fired that may work for many calls.
func (r *Runner) NoteTimers(shared bool) {
	r.timers.shared = shared
	r.timers.before = r.timers.due().soon // the first look takes long, and maps memory
	r.timers.each(func(t Timer) {
		if t.In <= MaxSharedWait && len(r.timers.known) < maxKnown {
			r.timers.known = append(r.timers.known, t.Address)
		}
	})
	if len(r.timers.known) == maxKnown {
		r.timers.known = nil
	}
}

// ShareTimers has batches end when timers have fired that may work for many calls.
func (r *Runner) ShareTimers() { r.timers.shared = true }

// SharesTimers reports whether batches end when timers have fired that may work for many calls.
func (r *Runner) SharesTimers() bool { return r.timers.shared }

// AwaitTimers waits until the timers have fired that so many calls have set.
func (r *Runner) AwaitTimers(calls int) {
	least := max(minTimers, int(r.setup.TimersPerCall*float64(calls)))
	waited := time.Duration(0)
	for !r.timers.gaveUp && r.end == GoesOn {
		d := r.timers.due()
		if d.soon < least {
			break
		}
		if waited += d.last; waited > r.setup.TimerWait {
			r.timers.gaveUp = true
		}
		if r.timers.gaveUp || !r.setup.Time.Allows(d.last+r.reserve) {
			break
		}
		r.awaitTimer(d.last)
	}
	if r.timers.shared && r.end == GoesOn {
		r.AwaitShared()
	}
}

// AwaitShared waits until each timer has fired that may work for many calls. It reports whether
// there was one, and time for it. If there was no time and batches are to end after such a timer,
// op is called no more.
func (r *Runner) AwaitShared() bool {
	in := r.timers.due().shared
	if in == 0 {
		return false
	}
	if !r.setup.Time.Allows(in + r.reserve) {
		if r.timers.shared {
			r.end = Late
		}
		return false
	}
	r.awaitTimer(in)
	return true
}

func (r *Runner) awaitTimer(in time.Duration) {
	r.setup.Sleep(in + time.Millisecond)
	r.timers.waited += in
	r.await()
}

// TimerWaits is what became of waits for timers.
type TimerWaits struct {
	Waited time.Duration // in all
	GaveUp bool          // timers took too long
	Shared bool          // batches ended when timers had fired that may work for many calls
	Next   time.Duration // until the first timer fires that was not waited for, FarTimer at most
}

// TimerWaits returns what became of waits for timers. It looks at those that are set.
func (r *Runner) TimerWaits() TimerWaits {
	return TimerWaits{r.timers.waited, r.timers.gaveUp, r.timers.shared, r.timers.due().far}
}
