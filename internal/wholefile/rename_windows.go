package wholefile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// renameFor is how long a rename is tried.
const renameFor = 2 * time.Second

// rename is os.Rename, which the system refuses here for the moment in which somebody else reads the
// file that is to be replaced, or replaces it.
func rename(from, to string) error {
	const sharing = syscall.Errno(32) // ERROR_SHARING_VIOLATION
	for began, pause := time.Now(), time.Millisecond; ; pause += time.Millisecond {
		err := os.Rename(from, to)
		if err == nil || !errors.Is(err, syscall.ERROR_ACCESS_DENIED) && !errors.Is(err, sharing) || time.Since(began) > renameFor {
			return err
		}
		time.Sleep(pause)
	}
}
