package remedy

import (
	"errors"
	"strings"
	"syscall"
)

// disk has the limits on files that are kept, and the way out of each.
var disk = []struct {
	errno  syscall.Errno
	signal string // that ends a command which goes beyond, as the go command prints it
	remedy string
}{
	{syscall.ENOSPC, "", "free space on the disk, or set LEAKGATE_CACHE (and GOTMPDIR) to a folder with room"},
	{syscall.EDQUOT, "", "free some of the user's disk quota, or set LEAKGATE_CACHE (and GOTMPDIR) to a folder with room"},
	{syscall.EFBIG, "file size limit exceeded", "raise the limit on the size of files (ulimit -f)"},
}

// ForDisk returns what the user can do about an error, or about what a command printed, if the
// cause is that there is no room for a file in the cache or for a build; "" if it is not.
func ForDisk(err error, output string) string {
	for _, d := range disk {
		if errors.Is(err, d.errno) || strings.Contains(output, d.errno.Error()) || d.signal != "" && strings.Contains(output, d.signal) {
			return d.remedy
		}
	}
	return ""
}
