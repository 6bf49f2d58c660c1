package offheap

import "sync"

// Blocks is a supply of empty lists with room for BlockLen numbers each, which may be given back
// one by one. The zero value is ready for use. It is safe for concurrent use.
type Blocks struct {
	mu   sync.Mutex
	free [][]uint32
	all  [][]uint32
}

// Get returns an empty list.
func (b *Blocks) Get() []uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.free); n > 0 {
		list := b.free[n-1]
		b.free = b.free[:n-1]
		return list
	}
	list := Make(BlockLen)
	b.all = append(b.all, list)
	return list[:0]
}

// Put gives back a list of Get, for others.
func (b *Blocks) Put(list []uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, list[:0])
}

// Release gives back the memory of all lists, those in use included.
func (b *Blocks) Release() {
	for _, list := range b.all {
		Free(list)
	}
	b.all, b.free = nil, nil
}
