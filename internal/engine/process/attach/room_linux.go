//go:build amd64 || arm64

package attach

import "syscall"

// largeRoom is the size in bytes from which on memory is allocated outside of the Go heap.
const largeRoom = 1 << 20

func (f *Frozen) makeRoom(n uint64) ([]byte, error) {
	if n < largeRoom {
		return make([]byte, n), nil
	}
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err == nil {
		f.mapped = append(f.mapped, b)
	}
	return b, err
}
