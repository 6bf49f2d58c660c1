package wholefile

import (
	"errors"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// noWait: to open a file waits for nobody here.
const noWait = 0

var lockFile = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// Of minwinbase.h and winerror.h.
const (
	failImmediately = 1
	exclusive       = 2
	errLocked       = syscall.Errno(33) // ERROR_LOCK_VIOLATION
)

// TryLock takes an exclusive lock on an open file if no other process has it (LockFileEx). The lock
// is released when the file is closed, or when the process ends in whatever way. The error says
// that the system or the file system has no locks, or that it is a folder.
//
// Other processes cannot read or write a locked range, so the lock is on one byte beyond the end of
// any file.
func TryLock(f *os.File) (bool, error) {
	at := syscall.Overlapped{Offset: ^uint32(0), OffsetHigh: ^uint32(0) >> 1}
	ok, _, err := lockFile.Call(f.Fd(), exclusive|failImmediately, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return true, nil
	case errors.Is(err, errLocked), errors.Is(err, syscall.ERROR_IO_PENDING):
		return false, nil
	}
	return false, err
}

// claim does nothing: a file that a process has opened with package os can be neither renamed nor
// removed here (syscall.Open shares it for reading and writing alone), and there are no locks of
// folders.
func claim(*os.File) (bool, error) { return true, nil }

// removals counts the renames that this process has tried.
var removals atomic.Int64

// removeUnclaimed renames path, which the system refuses while a process has it open, and then
// removes it.
func removeUnclaimed(path string) {
	mine := path + "-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(removals.Add(1), 10)
	if os.Rename(path, mine) == nil {
		_ = os.RemoveAll(mine)
	}
}
