package growth

import (
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
)

// timerNotes says how long timers were waited for, if long, and whether a pass has not waited for
// some that may work for calls later.
func timerNotes(w calls.TimerWaits, pass bool) (notes []string) {
	if w.Waited >= calls.BatchTime {
		notes = append(notes, "waited "+rounded(w.Waited)+" for timers that were about to fire")
	}
	if pass && w.GaveUp {
		notes = append(notes, "op sets timers that take more than "+rounded(assertion.MaxTimerWait)+", one after the other: what they leave later does not count")
	}
	if in := w.Next; pass && in < calls.FarTimer {
		how := "let op wait for it"
		if in <= calls.MaxSharedWait && !w.Shared {
			how = "Full waits for it"
		}
		notes = append(notes, "a timer or a ticker is due in "+rounded(in)+": if it does work then that calls of op have left to it, this does not count; "+how)
	}
	return notes
}

func rounded(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }
