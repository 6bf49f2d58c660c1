package heapgraph

import "sync/atomic"

// bitset is a set of object numbers.
type bitset []uint64

//go:noinline
func newBitset(n uint32) bitset { return make(bitset, (uint64(n)+63)/64) }

func (b bitset) has(i uint32) bool { return b[i>>6]>>(i&63)&1 != 0 }

// add reports whether i was new.
func (b bitset) add(i uint32) bool {
	w, m := &b[i>>6], uint64(1)<<(i&63)
	if *w&m != 0 {
		return false
	}
	*w |= m
	return true
}

// remove reports whether i was there.
func (b bitset) remove(i uint32) bool {
	w, m := &b[i>>6], uint64(1)<<(i&63)
	if *w&m == 0 {
		return false
	}
	*w &^= m
	return true
}

// part returns the bits of n numbers from i on, at most 64.
func (b bitset) part(i, n uint32) uint64 {
	w, shift := b[i>>6]>>(i&63), 64-(i&63)
	if n > shift {
		w |= b[i>>6+1] << shift
	}
	return w & (1<<n - 1)
}

// addShared is add for several goroutines at once.
func (b bitset) addShared(i uint32) bool {
	w, m := &b[i>>6], uint64(1)<<(i&63)
	return atomic.LoadUint64(w)&m == 0 && atomic.OrUint64(w, m)&m == 0
}
