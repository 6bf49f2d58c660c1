package offheap

import (
	"syscall"
	"unsafe"
)

const call = "VirtualAlloc"

var (
	kernel32     = syscall.NewLazyDLL("kernel32.dll")
	virtualAlloc = kernel32.NewProc("VirtualAlloc")
	virtualFree  = kernel32.NewProc("VirtualFree")
)

// Of winnt.h.
const (
	memCommit     = 0x1000
	memReserve    = 0x2000
	memRelease    = 0x8000
	pageReadWrite = 0x04
)

func take(bytes int) ([]byte, error) { return allocate(0, bytes, memReserve|memCommit) }

func reserve(bytes int) ([]byte, error) { return allocate(0, bytes, memReserve) }

// provide commits memory for all pages of the part. A page takes memory when it is first touched.
func provide(part []byte) error {
	if len(part) == 0 {
		return nil
	}
	_, err := allocate(uintptr(unsafe.Pointer(unsafe.SliceData(part))), len(part), memCommit)
	return err
}

func allocate(at uintptr, bytes int, kind uintptr) ([]byte, error) {
	a, _, err := virtualAlloc.Call(at, uintptr(bytes), kind, pageReadWrite)
	if a == 0 {
		return nil, err
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&a)), bytes), nil
}

func release(all []byte) error {
	if ok, _, err := virtualFree.Call(uintptr(unsafe.Pointer(unsafe.SliceData(all))), 0, memRelease); ok == 0 {
		return err
	}
	return nil
}
