// Package realtime tells the time and sleeps by the system's clock, also in a bubble of
// testing/synctest. A bubble has a clock of its own, which stands still while any of its goroutines
// runs, and leaps to the next timer when all of them wait.
package realtime

import (
	"runtime"
	"strings"
	"time"
)

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
	dump := make([]byte, 4<<20)
	goroutines := strings.Split(string(dump[:runtime.Stack(dump, true)]), "\n\n")
	own := goroutines[0]
	bubble := own[strings.Index(own, ", synctest bubble ") : strings.IndexByte(own, ']')+1]
	busy := 0
	for _, g := range goroutines {
		if strings.Contains(g, bubble) && !strings.Contains(g, " (durable)") {
			busy++
		}
	}
	if busy == 1 { // the caller
		time.Sleep(d)
	}
}
