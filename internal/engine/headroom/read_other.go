//go:build !linux

package headroom

import "os"

func readFile(name string) ([]byte, error) { return os.ReadFile(name) }

// limitsOfOwn is empty: on this system these limits are not read.
type limitsOfOwn [0]int

func ownLimits() (limits limitsOfOwn) { return limits }
