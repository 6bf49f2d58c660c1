package wholefile

import (
	"errors"
	"syscall"
	"time"
)

// maxPatience is how long patiently repeats a call.
const maxPatience = 2 * time.Second

// patiently repeats f as long as the system refuses it because another process is reading or
// replacing the file, for at most maxPatience.
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
