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

// DueTimers are the pending timers that fire within maxTimerWait.
type DueTimers struct {
	wait  time.Duration // until the last of them has fired, 0 if there are none
	names []string
}

// Add adds what is pending at a root, if that is a timer and some of it fires soon. What repeats is
// not waited for, and neither is a timer with a clock of its own.
func (d *DueTimers) Add(name string, r *refscan.RootInfo) {
	if r.Kind != refscan.RootTimer || r.Period != 0 || r.DueFirst == 0 && r.DueLast == 0 || r.DueFirst > MaxTimerWait {
		return
	}
	d.wait = max(d.wait, min(max(r.DueLast, 0), MaxTimerWait)+timerSlack)
	if name = symbol.Unescape(name); !slices.Contains(d.names, name) {
		d.names = append(d.names, name)
	}
}

// MoreTimers returns those of a report that fire soon and of which there were fewer before.
func MoreTimers(now, before *refscan.Report) DueTimers {
	had := make(map[string]int64)
	for _, n := range before.Roots {
		if n.Root != nil && n.Root.Kind == refscan.RootTimer {
			had[n.Name] += n.Root.Timers
		}
	}
	var due DueTimers
	for _, n := range now.Roots {
		if n.Root != nil && n.Root.Timers > had[n.Name] {
			due.Add(n.Name, n.Root)
		}
	}
	return due
}

// timersDue returns those that hold what breaks a bound or a golden file.
func timersDue(e *check.Evaluation) DueTimers {
	var due DueTimers
	for i := range e.Findings {
		if f := &e.Findings[i]; f.Broken {
			for _, b := range f.Culprits {
				due.Add(b.Line()[0].Name, b.Root)
			}
		}
	}
	return due
}

// Pause waits before an assertion looks again: so long, or longer for timers that are about to
// fire, if there is the time.
func (a *Assertion) Pause(wait time.Duration, due DueTimers, look time.Duration) {
	if due.wait > wait && a.Time.Allows(due.wait+look) {
		wait = due.wait
		a.Logs = append(a.Logs, due.String())
	}
	a.Sleep(wait)
}

// String says what was waited for.
func (d DueTimers) String() string {
	return fmt.Sprintf("waited %s for timers that were about to fire: %s", d.wait.Round(10*time.Millisecond), strings.Join(d.names, ", "))
}
