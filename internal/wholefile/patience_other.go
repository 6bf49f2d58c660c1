//go:build !windows

package wholefile

// patiently calls f once: other processes that use the file do not make it fail here.
func patiently(f func() error) error { return f() }
