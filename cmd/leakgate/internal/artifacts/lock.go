package artifacts

import (
	"os"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// lock holds f for this process until f is closed. It reports false if another process holds it. On
// a file system without locks, every process gets it.
func lock(f *os.File) bool {
	locked, err := wholefile.TryLock(f)
	return locked || err != nil
}
