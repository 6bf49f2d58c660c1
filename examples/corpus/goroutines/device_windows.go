package goroutines

import "syscall"

// A descriptor is what package syscall has for an open file.
type descriptor = syscall.Handle
