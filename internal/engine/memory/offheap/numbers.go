package offheap

// BlockLen is how many numbers Take can return at most.
const BlockLen = 1 << 18

// Numbers is a supply of lists of 32-bit numbers, which are given back all at once. The zero value
// is ready for use. It takes memory in blocks of 1 MiB. It is not safe for concurrent use.
type Numbers struct {
	blocks [][]uint32
	used   int      // blocks that are in use
	free   []uint32 // of the last of them
}

// Take returns a list of n numbers, of any value.
func (p *Numbers) Take(n int) []uint32 {
	if n > len(p.free) {
		if p.used == len(p.blocks) {
			p.blocks = append(p.blocks, Make(BlockLen))
		}
		p.free = p.blocks[p.used]
		p.used++
	}
	list := p.free[:n:n]
	p.free = p.free[n:]
	return list
}

// Reset takes all lists back, and keeps the memory.
func (p *Numbers) Reset() { p.used, p.free = 0, nil }

// Release takes all lists back, and gives back the memory. The lists must not be read any more.
func (p *Numbers) Release() {
	for _, b := range p.blocks {
		Free(b)
	}
	*p = Numbers{}
}
