package offheap

import (
	"syscall"
	"unsafe"
)

// Make returns a list of n numbers, all 0, to be given back with Free. It takes memory as it is written to. What the system does
// not grant comes from the heap.
func Make(n int) []uint32 {
	if n == 0 {
		return nil
	}
	mem, err := syscall.Mmap(-1, 0, n*4, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return make([]uint32, n)
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(mem))), n)
}

// Free gives back a list that Make returned, in its whole length.
func Free(list []uint32) {
	if len(list) == 0 {
		return
	}
	mem := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*4)
	_ = syscall.Munmap(mem) // fails for what came from the heap
}
