package realtime

import (
	"syscall"
	"time"
)

// Sleep is time.Sleep, by the system's clock. In a bubble it sleeps in a system call, in which a
// goroutine does not wait durably: the bubble's clock stands still.
func Sleep(d time.Duration) {
	if !InBubble() {
		time.Sleep(d)
		return
	}
	for end := Clock() + d; d > 0; d = end - Clock() {
		left := syscall.NsecToTimespec(int64(d))
		_ = syscall.Nanosleep(&left, nil) // a signal ends it early
	}
}
