package alloctrace

// BlockSize is the size of the blocks that small objects without pointers share, in bytes (go1.26,
// go1.27: runtime/malloc.go, maxTinySize).
const BlockSize = 16

// blocks are blocks of 16 bytes of the heap, by page. They take a hundredth of the pages' memory.
type blocks map[uint64]*[pageSize / BlockSize / 64]uint64

// add adds the block of an object, whose address is in units of minAlign, and reports whether it is
// new.
func (b blocks) add(object uint64) bool {
	n := object * minAlign / BlockSize
	page := n / (pageSize / BlockSize)
	if b[page] == nil {
		b[page] = new([pageSize / BlockSize / 64]uint64)
	}
	word, bit := &b[page][n/64%uint64(len(b[page]))], uint64(1)<<(n%64)
	isNew := *word&bit == 0
	*word |= bit
	return isNew
}
