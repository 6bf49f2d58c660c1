package gcwatch

import "github.com/leakgate/leakgate/internal/engine/memory/offheap"

// Self is the memory of this process.
type Self struct{}

// Word implements Memory.
func (Self) Word(addr uint64, size int) (uint64, error) {
	if size == 4 {
		return uint64(offheap.Half(uintptr(addr))), nil
	}
	return uint64(offheap.Word(uintptr(addr))), nil
}
