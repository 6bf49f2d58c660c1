package gccount

import "github.com/leakgate/leakgate/internal/engine/memory/peek"

// Self is the memory of this process.
type Self struct{}

// Word implements Memory.
func (Self) Word(addr uint64, size int) (uint64, error) {
	if size == 4 {
		return uint64(peek.Half(uintptr(addr))), nil
	}
	return uint64(peek.Word(uintptr(addr))), nil
}
