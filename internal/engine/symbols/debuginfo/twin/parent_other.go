//go:build !linux && !windows

package twin

// findGoTest finds nothing, since this system has no /proc; the build information has to do.
func findGoTest() (process, bool) { return process{}, false }

func initialEnviron() []string { return startEnviron }
