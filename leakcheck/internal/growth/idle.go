package growth

import (
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/realtime"
)

// An operation may leave work to other goroutines: it puts a job into a queue, and returns. What
// they leave behind grows with the number of calls only if their work is done when it is counted.
// So each batch ends when no goroutine runs any more.

// call calls op n times, and waits for what other goroutines do that op has left work to. After
// each call it calls passed, if that is not nil. It returns how long it waited, if that was long.
func (x *Experiment) call(n int, passed func()) (waited time.Duration) {
	if x.callOp(n, passed) {
		waited = x.awaitIdle()
		x.op.spent += waited
	}
	return waited
}

// callOp calls op n times, under watch. op may end the goroutine.
func (x *Experiment) callOp(n int, passed func()) bool {
	defer x.watch()()
	return x.op.call(n, passed)
}

// awaitIdle waits until other goroutines have done what calls have left to them. If they run
// without an end, the log names one of them, once. It returns how long it waited, 0 if no longer
// than a collection takes.
func (x *Experiment) awaitIdle() time.Duration {
	start := x.Now()
	over := func() bool { return !x.Time.Allows(0) }
	if !snapshot.AwaitIdle(over) && !x.restless && !over() {
		x.noteRestless()
	}
	if took := x.Now().Sub(start); took > batchTime {
		return took
	}
	return 0
}

// noteRestless logs what one of the goroutines runs that run on.
func (x *Experiment) noteRestless() {
	_, others, _ := strings.Cut(realtime.AllStacks(), "\n\n") // the first goroutine is this one
	realtime.Goroutines(others, func(g *realtime.Goroutine) {
		if !x.restless && strings.HasPrefix(g.State, "run") && g.CreatedBy != "testing.(*T).Run" {
			x.restless = true
			x.Logs = append(x.Logs, "goroutines ran on after op had returned, and what they leave behind later does not count: "+g.Calls[len(g.Calls)-1].Function)
		}
	})
}
