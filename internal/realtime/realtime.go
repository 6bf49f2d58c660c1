// Package realtime tells the time and sleeps by the system's clock, also in a bubble of
// testing/synctest. A bubble has a clock of its own, which stands still while any of its goroutines
// runs, and leaps to the next timer when all of them wait. What waits is read from stack traces.
package realtime

import (
	"strings"
	"time"
	_ "unsafe" // for go:linkname
)

// Many programs link to the runtime's clock like this, so the runtime keeps it for them (go1.26 and
// go1.27 runtime/time_nofake.go).
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Clock is the time of the clock that the runtime's timers use, on Linux CLOCK_MONOTONIC. The
// runtime reads it without a system call, which a sandbox may refuse: filters that are made of the
// calls that a program was seen to make do not know clock_gettime.
func Clock() time.Duration { return time.Duration(nanotime()) }

// InBubble reports whether the calling goroutine is in a bubble. There time.Now has no monotonic
// clock reading, which Local removes (go1.26 and go1.27 runtime/time.go, time_now).
func InBubble() bool {
	now := time.Now()
	return now == now.Local()
}

// Now is time.Now, by the system's clock. In a bubble only the differences between its values have
// a meaning.
func Now() time.Time {
	if InBubble() {
		return time.Time{}.Add(Clock())
	}
	return time.Now()
}

// SleepBoth sleeps by the system's clock. In a bubble the same time then passes by the bubble's
// clock, so that goroutines end that wait for a timer. If another goroutine of the bubble waits for
// something outside of it, the bubble's clock stands still, and time.Sleep would wait as long as
// that goroutine.
//
// The dump of all stacks tells: "goroutine 8 [select (durable), synctest bubble 1]:" (go1.26 and
// go1.27 runtime/traceback.go, goroutineheader).
func SleepBoth(d time.Duration) {
	Sleep(d)
	if !InBubble() {
		return
	}
	if isAlone(AllStacks()) {
		time.Sleep(d)
	}
}

// isAlone reports whether all goroutines of the bubble of the first one wait durably, but for it.
func isAlone(stacks string) bool {
	own, others, _ := strings.Cut(stacks, "\n\n")
	number := bubble(own)
	if number == "" {
		return false
	}
	for g := range strings.SplitSeq(others, "\n\n") {
		if bubble(g) == number && !strings.Contains(g, " (durable)") {
			return false
		}
	}
	return true
}

// bubble returns the number of a goroutine's bubble, "" if there is none.
func bubble(stack string) string {
	_, after, _ := strings.Cut(stack, ", synctest bubble ")
	number, _, _ := strings.Cut(after, "]")
	return number
}
