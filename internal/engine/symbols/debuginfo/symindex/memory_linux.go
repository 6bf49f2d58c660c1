package symindex

import (
	"os"
	"syscall"
	"unsafe"
)

// hugePage is the size of a transparent huge page on amd64, and on arm64 with pages of 4 kB.
const hugePage = 2 << 20

// takeMemory returns zeroed memory outside of the Go heap, which the garbage collector neither
// counts nor scans, and a function that releases it. It asks for huge pages: the first write to
// small pages costs more than reading the file into them; with huge pages it costs a fifth.
func takeMemory(size int) (memory []byte, free func(), err error) {
	spare := 0
	if size >= hugePage/2 {
		spare = hugePage // address space for aligning to huge pages
	}
	all, err := syscall.Mmap(-1, 0, size+2*spare, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	memory = all
	if spare > 0 {
		memory = all[-uintptr(unsafe.Pointer(unsafe.SliceData(all)))%hugePage:]
		whole := (size + hugePage - 1) &^ (hugePage - 1)
		// a kernel without huge pages uses small ones
		_ = syscall.Madvise(memory[:whole], syscall.MADV_HUGEPAGE)
	}
	return memory[:size:size], func() { _ = syscall.Munmap(all) }, nil
}
