package realtime

import (
	"syscall"
	"time"
	"unsafe"
)

// Clock is the time of CLOCK_MONOTONIC, which the runtime's timers use.
func Clock() time.Duration {
	const monotonic = 1
	var now syscall.Timespec
	// cannot fail
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano())
}

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
