//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package wholefile

import (
	"errors"
	"os"
	"syscall"
)

// noWait makes the opening of a named pipe or a device return at once.
const noWait = syscall.O_NONBLOCK

// TryLock takes an exclusive lock on an open file or folder if no other process has it (flock). The
// lock is released when the file is closed, or when the process ends in whatever way. The error
// says that the system or the file system has no locks.
func TryLock(f *os.File) (bool, error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}

func claim(f *os.File) (bool, error) { return TryLock(f) }

func removeUnclaimed(path string) {
	f, err := os.OpenFile(path, os.O_RDONLY|noWait|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if locked, err := TryLock(f); err == nil && locked {
		_ = os.RemoveAll(path)
	}
}
