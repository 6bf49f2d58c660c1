//go:build !windows && !darwin

package headroom

// ofSystem returns no limits: on this system all limits are in files of the kernel.
func ofSystem() []Limit { return nil }

// procFiles says whether the system may have files of limits below /proc.
const procFiles = true
