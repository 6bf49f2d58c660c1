package liveread

import "unsafe"

// tinyBlock is the size of a block of the tiny allocator.
const tinyBlock = 16

// FillTiny makes a block of the tiny allocator the current one of this processor, fills it, and
// keeps it out of the next Count. Call it right before the collection. A collection keeps the
// current block of each processor, even if nothing refers to it (go1.26 and go1.27
// runtime/mgcmark.go, gcMarkTinyAllocs): some small value that the calls have made and dropped
// would count as a new block, which stands for as many values as fit into it. A block that holds
// nothing but FillTiny's own bytes hides no other value.
func (w *Watch) FillTiny() {
	w.filled = 0
	first, n := uintptr(0), uintptr(0)
	for range 3 * tinyBlock { // what is left of the block before, and one block, unless something interferes
		p := uintptr(unsafe.Pointer(newByte()))
		if p%tinyBlock == 0 {
			first, n = p, 0
		}
		if p != first+n {
			continue // this goroutine is not alone in the block
		}
		if n++; n == tinyBlock {
			w.filled = first
			return
		}
	}
}

//go:noinline
func newByte() *byte { return new(byte) }
