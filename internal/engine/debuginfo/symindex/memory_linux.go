package symindex

import (
	"os"
	"syscall"
	"unsafe"
)

// hugePage is the size of a transparent huge page on amd64, and on arm64 with pages of 4 kB.
const hugePage = 2 << 20

// takeMemory returns zeroed memory outside of the Go heap, which the collector neither counts nor
// looks into, and what gives it back. It asks for huge pages: to write to memory for the first time
// costs more than to read a file into it, and with them a fifth.
func takeMemory(size int) (memory []byte, free func(), err error) {
	spare := 0
	if size >= hugePage/2 {
		spare = hugePage // of address space, so that huge pages fit
	}
	all, err := syscall.Mmap(-1, 0, size+2*spare, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	memory = all
	if spare > 0 {
		memory = all[-uintptr(unsafe.Pointer(unsafe.SliceData(all)))%hugePage:]
		whole := (size + hugePage - 1) &^ (hugePage - 1)
		// a kernel without them has small ones
		_ = syscall.Madvise(memory[:whole], syscall.MADV_HUGEPAGE)
	}
	return memory[:size:size], func() { _ = syscall.Munmap(all) }, nil
}
