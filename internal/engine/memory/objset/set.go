package objset

import (
	"sync/atomic"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
)

// A Set is a set of numbers below the one that New was given, a bit each. Has, Add and Remove panic
// for others. Only AddShared may be called by several goroutines at once.
type Set []uint64

// New returns an empty set for the numbers below n.
func New(n uint32) Set { return make(Set, (uint64(n)+63)/64) }

// Has reports whether i is in the set.
func (s Set) Has(i uint32) bool { return s[i>>6]>>(i&63)&1 != 0 }

// Add adds i, and reports whether it was new.
func (s Set) Add(i uint32) bool {
	w, m := &s[i>>6], uint64(1)<<(i&63)
	if *w&m != 0 {
		return false
	}
	*w |= m
	return true
}

// Remove removes i, and reports whether it was there.
func (s Set) Remove(i uint32) bool {
	w, m := &s[i>>6], uint64(1)<<(i&63)
	if *w&m == 0 {
		return false
	}
	*w &^= m
	return true
}

// Bits returns which of the n numbers from i on are in the set, the first in the lowest bit. n is
// at most 64.
func (s Set) Bits(i, n uint32) uint64 {
	w, shift := s[i>>6]>>(i&63), 64-(i&63)
	if n > shift {
		w |= s[i>>6+1] << shift
	}
	return w & (1<<n - 1)
}

// AddShared is like Add, but several goroutines may call it at once.
//
//go:norace
func (s Set) AddShared(i uint32) bool {
	w, m := &s[i>>6], uint64(1)<<(i&63)
	return offheap.Load64(w)&m == 0 && atomic.OrUint64(w, m)&m == 0
}

// HasShared is like Has, while other goroutines may call AddShared.
//
//go:norace
func (s Set) HasShared(i uint32) bool { return offheap.Load64(&s[i>>6])>>(i&63)&1 != 0 }
