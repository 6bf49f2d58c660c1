//go:build !windows

package wholefile

// patiently calls f, which nobody else keeps from what it does.
func patiently(f func() error) error { return f() }
