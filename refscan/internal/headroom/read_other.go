//go:build !linux

package headroom

import "os"

func readFile(name string) ([]byte, error) { return os.ReadFile(name) }

// ownLimits are of no use here.
func ownLimits() (limits [2]int) { return limits }
