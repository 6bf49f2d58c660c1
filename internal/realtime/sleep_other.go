//go:build !linux

package realtime

import (
	"runtime"
	"time"
)

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
