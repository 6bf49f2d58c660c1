package calls

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
)

// A Runner calls an operation again and again.
type Runner struct {
	Cost
	*Limits
	alarm
	idler
	setup   *Setup
	timers  timers
	mapped  mapped
	reserve time.Duration // what has to be left when a call returns
	end     End
	short   error // a limit leaves next to no memory
}

// NewRunner returns a Runner. It notes what the process has now.
func NewRunner(s *Setup) *Runner {
	r := &Runner{setup: s, idler: idler{setup: s}, timers: timers{setup: s}, mapped: mapped{unknown: !s.Resources || s.Elsewhere}}
	r.Limits = &Limits{setup: s, cost: &r.Cost, before: takeStock(s.Resources)}
	r.tell, r.alarm.before = s.Stuck, &r.Limits.before
	return r
}

// End returns why op is called no more.
func (r *Runner) End() End { return r.end }

// Ended reports whether op is called no more.
func (r *Runner) Ended() bool { return r.end != GoesOn }

// Resume has op be called again, and forgets calls, if any, since there were so many.
func (r *Runner) Resume(calls int64) { r.Calls, r.end = calls, GoesOn }

// Short returns the error that a limit leaves next to no memory; nil if that is not so.
func (r *Runner) Short() error { return r.short }

// Current returns the number of the call that has not returned, from 1; 0: none.
func (r *Runner) Current() int64 { return r.current.Load() }

// Mapped is how many bytes of anonymous memory calls have mapped.
func (r *Runner) Mapped() int64 { return r.mapped.bytes }

// Keep sets how much time has to be left when a call returns.
func (r *Runner) Keep(d time.Duration) { r.reserve = d }

// Call calls op n times, and waits for what other goroutines do that op has left work to. After
// each call it calls passed, if that is not nil. It returns how long it waited, if that was long.
func (r *Runner) Call(n int, passed func()) (waited time.Duration) {
	if r.callWatched(n, passed) {
		waited = r.await()
		r.Spent += waited
	}
	return waited
}

// callWatched is call, under watch. op may end the goroutine.
func (r *Runner) callWatched(n int, passed func()) bool {
	defer r.watch()()
	return r.call(n, passed)
}

// call calls op n times, and passed after each call, if that is not nil. It reports whether it did:
// not if op has failed the test before, or time is up.
func (r *Runner) call(n int, passed func()) bool {
	for range n {
		if r.end != GoesOn {
			return false
		}
		if r.short = look(); r.short != nil || !r.setup.Time.Allows(r.Slowest+r.reserve) {
			r.end = Late
			return false
		}
		r.current.Store(r.Calls + 1)
		took := r.setup.Op.Once()
		r.current.Store(0)
		r.Add(took)
		if passed != nil {
			passed()
		}
		if r.setup.Op.Failed() {
			r.end = Failed
		}
	}
	return true
}

// stackText is about how many bytes it takes to count a goroutine, by the text of its stack.
const stackText = 1 << 10

// look returns an error if a limit leaves next to no memory for another call, even without the
// garbage of those before.
func look() error {
	beside := stackText * int64(runtime.NumGoroutine())
	err := memory.LookBeside(beside)
	if short, ok := err.(*headroom.Shortage); ok && short.IsResident() {
		debug.FreeOSMemory()
		err = memory.Now(beside)
	}
	return err
}

// memory looks at the limits for all runners, each of which may take less time than that.
var memory headroom.Watch
