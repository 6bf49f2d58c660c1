//go:build unix

package elfimage

import (
	"fmt"
	"os"
	"syscall"
)

// mapFile maps a file to read it. The mapping stays until Unmap.
func mapFile(path string) ([]byte, error) {
	// opening a pipe without a writer would block otherwise
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, fmt.Errorf("%s is no regular file, or an empty one", path)
	}
	b, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	return b, nil
}

// unmap removes a mapping.
func unmap(b []byte) error { return syscall.Munmap(b) }
