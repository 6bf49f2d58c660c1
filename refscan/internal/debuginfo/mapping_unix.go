//go:build unix

package debuginfo

import (
	"os"
	"syscall"

	"github.com/leakgate/leakgate/internal/fmterr"
)

// mapFile maps a file read-only. The bytes stay valid until the returned function is called, also if the file is
// replaced or deleted; nobody may truncate it meanwhile (the index cache only ever renames).
func mapFile(path string) ([]byte, func() error, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	size := st.Size()
	if !st.Mode().IsRegular() || size == 0 || size != int64(int(size)) {
		return nil, nil, fmterr.Errorf("%s: not a regular file with contents", path)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	return b, func() error { return syscall.Munmap(b) }, nil
}

// mapMemory returns memory outside of the Go heap that takes none until it is written to. It is not given back.
func mapMemory(size int) ([]byte, error) {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return b, nil
}
