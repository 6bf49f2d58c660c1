//go:build !windows && !darwin

package headroom

// ofSystem knows no limits but those in files of the kernel's.
func ofSystem() []Limit { return nil }

// procFiles says whether the system may have files of limits below /proc.
const procFiles = true
