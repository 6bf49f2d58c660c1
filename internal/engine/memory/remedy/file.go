package remedy

import (
	"errors"
	"syscall"
)

// ForFile returns what the user can do where a file that is there cannot be opened or read for lack
// of what the system gives to each process, or since a sandbox refuses the call; "" for other
// errors, which are about the file.
func ForFile(err error) string {
	for _, errno := range [...]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EPERM, syscall.ENOSYS} {
		if errors.Is(err, errno) {
			return For("open", errno)
		}
	}
	return ""
}
