//go:build unix

package artifacts

import (
	"errors"
	"os"
	"syscall"
)

// lock holds f for this process until it is closed. It reports false if another one has it. File
// systems that know no locks let everybody in.
func lock(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
