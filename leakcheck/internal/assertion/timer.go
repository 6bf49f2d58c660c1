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

// MaxTimerWait is how long an assertion waits at most for timers that are about to fire: what those
// keep is no leak. timerSlack is for what they run, and for the goroutines that this wakes up.
const (
	MaxTimerWait = 2 * time.Second
	timerSlack   = 100 * time.Millisecond
)

// PendingTimers are the pending timers that fire within maxTimerWait.
type PendingTimers struct {
	wait  time.Duration // until the last of them has fired, 0 if there are none
	names []string
}

// Add adds what is pending at a root, if that is a timer and some of it fires soon. What repeats is
// not waited for, and neither is a timer with a clock of its own.
func (p *PendingTimers) Add(name string, r *refscan.RootInfo) {
	if r.Kind != refscan.RootTimer || r.Period != 0 || r.DueFirst == 0 && r.DueLast == 0 || r.DueFirst > MaxTimerWait {
		return
	}
	p.wait = max(p.wait, min(max(r.DueLast, 0), MaxTimerWait)+timerSlack)
	if name = symbol.Unescape(name); !slices.Contains(p.names, name) {
		p.names = append(p.names, name)
	}
}

// MoreTimers returns those of a report that fire soon and of which there were fewer before.
func MoreTimers(now, before *refscan.Report) PendingTimers {
	had := make(map[string]int64)
	for _, n := range before.Roots {
		if n.Root != nil && n.Root.Kind == refscan.RootTimer {
			had[n.Name] += n.Root.Timers
		}
	}
	var pending PendingTimers
	for _, n := range now.Roots {
		if n.Root != nil && n.Root.Timers > had[n.Name] {
			pending.Add(n.Name, n.Root)
		}
	}
	return pending
}

// pendingTimers returns those that hold what breaks a bound or a golden file.
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

// Pause waits before an assertion looks again: so long, or longer for timers that are about to
// fire, if there is the time.
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
