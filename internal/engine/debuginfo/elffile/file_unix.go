//go:build unix

package elffile

import "syscall"

// openFlags keep the opening of a named pipe from waiting for a writer.
const openFlags = syscall.O_NONBLOCK
