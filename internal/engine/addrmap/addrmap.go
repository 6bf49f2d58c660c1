// Package addrmap is a map from addresses that is read without a lock.
package addrmap

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// A Map holds what is known of addresses, the knowledge that there is nothing (nil) included.
// Readers take no lock and may run at any time; those who add take turns. Address 0 is no key. All
// values of a map are pointers to one type; type parameters would say so, at 10 KB of every test
// binary for each.
type Map struct {
	slots atomic.Pointer[[]slot] // a power of two of them, at most half in use
	used  int
}

// slot is free while its address is 0. The value is stored first.
type slot struct {
	addr  uint64
	value unsafe.Pointer
}

// Get returns what is known of an address; ok is false if nothing was added for it.
func (m *Map) Get(addr uint64) (value unsafe.Pointer, ok bool) {
	if slots := m.slots.Load(); slots != nil && addr != 0 {
		if s := findSlot(*slots, addr); atomic.LoadUint64(&s.addr) == addr {
			return atomic.LoadPointer(&s.value), true
		}
	}
	return nil, false
}

// Len is how many addresses there are. Only who may add may ask.
func (m *Map) Len() int { return m.used }

// Add sets what is known of an address, which must not be 0 and not be in the map.
func (m *Map) Add(addr uint64, value unsafe.Pointer) {
	slots := m.slots.Load()
	if slots == nil || 2*m.used >= len(*slots) {
		old := slots
		grown := make([]slot, max(64, 4*m.used))
		slots = &grown
		if old != nil {
			for _, s := range *old {
				if s.addr != 0 {
					*findSlot(grown, s.addr) = s
				}
			}
		}
		m.slots.Store(slots)
	}
	s := findSlot(*slots, addr)
	atomic.StorePointer(&s.value, value)
	atomic.StoreUint64(&s.addr, addr)
	m.used++
}

// findSlot returns the slot of an address, or the free one where it would be.
//
//go:norace
func findSlot(slots []slot, addr uint64) *slot {
	mask := uint64(len(slots) - 1)
	i := addr * 0x9e3779b97f4a7c15 >> (64 - bits.Len64(mask))
	for {
		s := &slots[i&mask]
		if a := atomic.LoadUint64(&s.addr); a == addr || a == 0 {
			return s
		}
		i++
	}
}
