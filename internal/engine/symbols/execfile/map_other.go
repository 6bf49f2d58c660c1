//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package execfile

import (
	"fmt"
	"os"
)

// Map reads a file.
func Map(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		err = fmt.Errorf("%s is empty", path)
	}
	return b, err
}

// Unmap does nothing on this system.
func Unmap([]byte) error { return nil }
