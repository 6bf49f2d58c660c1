//go:build unix

package offheap

import "syscall"

const call = "mmap"

func take(bytes int) ([]byte, error) { return private(bytes, 0) }

// reserve returns address space that takes memory as it is written to. With huge pages it would
// also take memory between the pages that are written.
func reserve(bytes int) ([]byte, error) {
	b, err := private(bytes, mapNoReserve)
	if err == nil {
		adviseSmallPages(b)
	}
	return b, err
}

func private(bytes, flags int) ([]byte, error) {
	return syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|flags)
}

func provide([]byte) error { return nil }

func release(all []byte) error { return syscall.Munmap(all) }
