package assertion

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/refscan"
)

// MaxTimerWait is how long an assertion waits at most for timers that are about to fire: the
// objects that those timers hold are no leak. timerSlack is the time for the functions that the
// timers run, and for the goroutines that these functions wake up.
const (
	MaxTimerWait = 2 * time.Second
	timerSlack   = 100 * time.Millisecond
)

// PendingTimers are the pending timers that fire within MaxTimerWait.
type PendingTimers struct {
	wait  time.Duration // until the last of them has fired, 0 if there are none
	names []string
}

// Add adds the timers of a root, if the first of them fires within MaxTimerWait. It leaves out
// tickers, and timers with a clock of their own, which have no due time.
func (p *PendingTimers) Add(name string, r *refscan.RootInfo) {
	if r.Kind != refscan.RootTimer || r.Period != 0 || r.DueFirst == 0 && r.DueLast == 0 || r.DueFirst > MaxTimerWait {
		return
	}
	p.wait = max(p.wait, min(max(r.DueLast, 0), MaxTimerWait)+timerSlack)
	if name = symbol.Unescape(name); !slices.Contains(p.names, name) {
		p.names = append(p.names, name)
	}
}

// pendingTimers returns the timers that fire soon and hold what breaks a bound or a golden file.
func pendingTimers(e *check.Evaluation) PendingTimers {
	var pending PendingTimers
	for i := range e.Findings {
		if f := &e.Findings[i]; f.Broken {
			for _, b := range f.Culprits {
				pending.Add(b.Line()[0].Name, b.Root)
			}
		}
	}
	return pending
}

// Pause waits before the next snapshot. It waits longer than wait for timers that are about to
// fire, if there is time for that and for a snapshot.
func (a *Assertion) Pause(wait time.Duration, pending PendingTimers, snapshot time.Duration) {
	if pending.wait > wait && a.Time.Allows(pending.wait+snapshot) {
		wait = pending.wait
		a.Logs = append(a.Logs, pending.String())
	}
	a.Sleep(wait)
}

// String says what was waited for.
func (p PendingTimers) String() string {
	return fmt.Sprintf("waited %s for timers that were about to fire: %s", p.wait.Round(10*time.Millisecond), strings.Join(p.names, ", "))
}
