package freeze

import (
	"syscall"
	"time"
	"unsafe"
)

// Clock is the time of CLOCK_MONOTONIC, the clock of Process.Frozen. In a bubble of
// testing/synctest time.Now stands still while any goroutine runs.
func Clock() time.Duration {
	const monotonic = 1
	var now syscall.Timespec
	// cannot fail
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano())
}
