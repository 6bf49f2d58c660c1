//go:build !linux

package headroom

import "os"

func readFile(name string) ([]byte, error) { return os.ReadFile(name) }

// limitsOfOwn are of no use here.
type limitsOfOwn [0]int

func ownLimits() (limits limitsOfOwn) { return limits }
