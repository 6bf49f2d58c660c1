package remedy

import (
	"errors"
	"strings"
	"syscall"
)

// disk lists the errors of limits on stored files, and the remedy for each.
var disk = []struct {
	errno  syscall.Errno
	signal string // of a command that exceeds the limit, as the go command prints it
	remedy string
}{
	{syscall.ENOSPC, "", "free space on the disk, or set LEAKGATE_CACHE (and GOTMPDIR) to a folder with room"},
	{syscall.EDQUOT, "", "free some of the user's disk quota, or set LEAKGATE_CACHE (and GOTMPDIR) to a folder with room"},
	{syscall.EFBIG, "file size limit exceeded", "raise the limit on the size of files (ulimit -f)"},
}

// ForDisk returns the remedy if an error, or the output of a command, says that there is no room
// for a file in the cache or for a build; "" if not.
func ForDisk(err error, output string) string {
	for _, d := range disk {
		if errors.Is(err, d.errno) || strings.Contains(output, d.errno.Error()) || d.signal != "" && strings.Contains(output, d.signal) {
			return d.remedy
		}
	}
	return ""
}
