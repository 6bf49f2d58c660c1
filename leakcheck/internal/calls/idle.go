package calls

import (
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
)

// An operation may leave work to other goroutines: it puts a job into a queue, and returns. What
// they leave behind grows with the number of calls only if their work is done when it is counted.
// So each batch ends when no goroutine runs any more.

// longWait is how long a wait takes from which on work that is left to others counts.
const longWait = 25 * time.Millisecond

// An idler waits for other goroutines.
type idler struct {
	setup    *Setup
	restless bool // goroutines ran on after op had returned, and a note names one
}

// await waits until other goroutines have done what calls have left to them. If they run without an
// end, Setup.Note is told one of them, once. It returns how long it waited, 0 if no longer than a
// collection takes.
func (i *idler) await() time.Duration {
	start := i.setup.Time.Now()
	over := func() bool { return !i.setup.Time.Allows(0) }
	if !i.setup.AwaitIdle(over) && !i.restless && !over() {
		i.noteRestless()
	}
	if took := i.setup.Time.Now().Sub(start); took > longWait {
		return took
	}
	return 0
}

// noteRestless notes what one of the goroutines runs that run on; of another process that is not
// known.
func (i *idler) noteRestless() {
	note := "goroutines ran on after op had returned, and what they leave behind later does not count"
	if i.setup.Elsewhere {
		i.restless = true
		i.setup.Note(note)
		return
	}
	_, others, _ := strings.Cut(realtime.AllStacks(), "\n\n") // the first goroutine is this one
	realtime.Goroutines(others, func(g *realtime.Goroutine) {
		if !i.restless && strings.HasPrefix(g.State, "run") && g.CreatedBy != "testing.(*T).Run" {
			i.restless = true
			i.setup.Note(note + ": " + g.Entry())
		}
	})
}
