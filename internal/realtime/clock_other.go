//go:build !linux

package realtime

import (
	"runtime"
	"time"
	_ "unsafe" // for go:linkname
)

// Many programs link to the runtime's clock like this, so the runtime keeps it for them (go1.26 and
// go1.27 runtime/time_nofake.go).
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Clock is the time of the clock that the runtime's timers use.
func Clock() time.Duration { return time.Duration(nanotime()) }

// Sleep is time.Sleep, by the system's clock. In a bubble it lets other goroutines run until the
// time has passed, since package syscall has no sleep that all these systems have. The bubble's
// clock stands still.
func Sleep(d time.Duration) {
	if !InBubble() {
		time.Sleep(d)
		return
	}
	for end := Clock() + d; Clock() < end; {
		runtime.Gosched()
	}
}
