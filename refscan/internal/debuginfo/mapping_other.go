//go:build !unix

package debuginfo

import "os"

// mapFile reads a file, where mapping it is not worth the trouble.
func mapFile(path string) ([]byte, func() error, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	return b, func() error { return nil }, nil
}

// mapMemory returns memory.
func mapMemory(size int) ([]byte, error) { return make([]byte, size), nil }
