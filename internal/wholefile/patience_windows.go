package wholefile

import (
	"errors"
	"syscall"
	"time"
)

// maxPatience is how long something is tried.
const maxPatience = 2 * time.Second

// patiently calls f until the system does not refuse what it does for the moment in which somebody
// else reads the file or replaces it.
func patiently(f func() error) error {
	const sharing = syscall.Errno(32) // ERROR_SHARING_VIOLATION
	for began, pause := time.Now(), time.Millisecond; ; pause += time.Millisecond {
		err := f()
		if err == nil || !errors.Is(err, syscall.ERROR_ACCESS_DENIED) && !errors.Is(err, sharing) || time.Since(began) > maxPatience {
			return err
		}
		time.Sleep(pause)
	}
}
