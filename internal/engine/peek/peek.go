// Package peek reads memory of this process in place, wherever it lies: the runtime's own records,
// and objects whose types are not known. The caller knows that there is memory, and what it means
// that others write to it. The race detector and checkptr know nothing of such memory.
package peek

import "unsafe"

// No call lies between the making of a pointer and its use, so that no stack map ever shows it: it
// may lead to where no pointer of Go may, such as a span's own tables. They are nosplit for package
// inplace, which calls them where the stack may not grow.

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

// Bytes are n bytes that are not in the Go heap, in place.
func Bytes(at, n uintptr) []byte { return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), n) }
