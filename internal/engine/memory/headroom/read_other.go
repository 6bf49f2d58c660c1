//go:build !linux

package headroom

import "os"

func readFile(name string) ([]byte, error) { return os.ReadFile(name) }

// rlimits is empty: on this system these limits are not read.
type rlimits [0]struct{ Cur uint64 }

func ownLimits() (limits rlimits) { return limits }
