//go:build unix

package objfile

import "syscall"

// openFlags keep the opening of a named pipe from waiting for a writer.
const openFlags = syscall.O_NONBLOCK
