//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package debuginfo

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes an exclusive lock if nobody has it. Closing the file, or the process's end, releases it.
func tryLock(f *os.File) (bool, error) {
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
