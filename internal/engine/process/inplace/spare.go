package inplace

import (
	"os"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
)

// maxSpared is after how many bytes of copies their memory goes back to the system: each copy may
// fill other pages of the mirror than those before it.
const maxSpared = 64 << 20

// swapSpare keeps the memory of a copy for the next one, nil for none, and returns what was kept
// before.
func (p *Plan) swapSpare(areas [][]byte) (before [][]byte) {
	if was := p.spare.Swap(&areas); was != nil {
		before = *was
	}
	offheap.Kept.Add(mapped(areas) - mapped(before))
	return before
}

// mapped returns how many bytes the system has mapped for areas: whole pages.
func mapped(areas [][]byte) (bytes int64) {
	page := int64(os.Getpagesize())
	for _, b := range areas {
		bytes += (int64(len(b)) + page - 1) &^ (page - 1)
	}
	return bytes
}

// GiveBack gives the memory that is kept for the next copy back to the system.
func (p *Plan) GiveBack() {
	for _, b := range p.swapSpare(nil) {
		_ = offheap.Release(b)
	}
}
