//go:build !unix

package elfimage

import (
	"fmt"
	"os"
)

// mapFile reads a file.
func mapFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		err = fmt.Errorf("%s is empty", path)
	}
	return b, err
}

// unmap does nothing on this system.
func unmap([]byte) error { return nil }
