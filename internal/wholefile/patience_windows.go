package wholefile

import (
	"errors"
	"syscall"
	"time"
)

// maxPause is the last pause of patiently, which adds up to two seconds, and to more where the
// processors are busy with what holds the file.
const maxPause = 64 * time.Millisecond

// patiently repeats f as long as the system refuses it because another process is reading or
// replacing the file, after pauses that become longer.
func patiently(f func() error) error {
	const sharing = syscall.Errno(32) // ERROR_SHARING_VIOLATION
	for pause := time.Millisecond; ; pause += time.Millisecond {
		err := f()
		if err == nil || !errors.Is(err, syscall.ERROR_ACCESS_DENIED) && !errors.Is(err, sharing) || pause > maxPause {
			return err
		}
		time.Sleep(pause)
	}
}
