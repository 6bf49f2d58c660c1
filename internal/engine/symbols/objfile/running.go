package objfile

import (
	"os"
	"runtime"
)

// Running is the file of the running program. On Linux /proc/self/exe works even when the file has
// been moved or deleted.
func Running() (string, error) {
	const self = "/proc/self/exe"
	if runtime.GOOS == "linux" {
		if _, err := os.Stat(self); err == nil {
			return self, nil
		}
	}
	return os.Executable()
}

// IsRunning reports whether a file is the running program's.
func IsRunning(path string) bool {
	self, err := Running()
	if err != nil {
		return false
	}
	a, errA := os.Stat(self)
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
