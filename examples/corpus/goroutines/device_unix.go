//go:build unix

package goroutines

// A descriptor is what package syscall has for an open file.
type descriptor = int
