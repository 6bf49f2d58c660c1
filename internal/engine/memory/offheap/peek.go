package offheap

import "unsafe"

// No call lies between the making of a pointer and its use, so that no stack map ever shows the
// pointer: it may lead to memory that no Go pointer may lead to, such as a span's own tables. The
// functions are nosplit for package inplace, which calls them where the stack may not grow.

// Word reads 8 bytes.
//
//go:nosplit
//go:norace
//go:nocheckptr
func Word(at uintptr) uintptr { return **(**uintptr)(unsafe.Pointer(&at)) }

// Half reads 4 bytes.
//
//go:nosplit
//go:norace
//go:nocheckptr
func Half(at uintptr) uint32 { return **(**uint32)(unsafe.Pointer(&at)) }

// Quarter reads 2 bytes.
//
//go:nosplit
//go:norace
//go:nocheckptr
func Quarter(at uintptr) uint16 { return **(**uint16)(unsafe.Pointer(&at)) }

// Byte reads a byte.
//
//go:nosplit
//go:norace
//go:nocheckptr
func Byte(at uintptr) byte { return **(**byte)(unsafe.Pointer(&at)) }

// Bytes returns n bytes in place, which must not be in the Go heap.
func Bytes(at, n uintptr) []byte { return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), n) }
