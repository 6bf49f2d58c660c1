package artifacts

import (
	"os"

	"github.com/leakgate/leakgate/internal/filelock"
)

// lock holds f for this process until it is closed. It reports false if another one has it. File
// systems that know no locks let everybody in.
func lock(f *os.File) bool {
	locked, err := filelock.Try(f)
	return locked || err != nil
}
