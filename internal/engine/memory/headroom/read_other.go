//go:build !linux

package headroom

import "os"

func readFile(name string) ([]byte, error) { return os.ReadFile(name) }

// residentBytes is unknown: each look measures the limits.
func residentBytes() int64 { return 0 }

// rlimits is empty: on this system these limits are not read.
type rlimits [0]struct{ Cur uint64 }

func ownLimits() (limits rlimits) { return limits }
