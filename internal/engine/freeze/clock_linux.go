package freeze

import (
	"syscall"
	"time"
	"unsafe"
)

// Clock is the clock that Process.Frozen goes by, CLOCK_MONOTONIC. time.Now stands still in a bubble
// of testing/synctest while anything runs.
func Clock() time.Duration {
	const monotonic = 1
	var now syscall.Timespec
	// cannot fail
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano())
}
