package objset

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// An AddressMap maps addresses to pointers; nil is a valid value, for an address with nothing to
// know. Get takes no lock and may run at any time; calls of Add and Len must not overlap. Address 0
// is no key.
type AddressMap[T any] struct{ addressMap }

// Get returns the value of an address; ok is false if the address was not added.
func (m *AddressMap[T]) Get(addr uint64) (value *T, ok bool) {
	v, ok := m.get(addr)
	return (*T)(v), ok
}

// Add sets the value of an address, which must not be 0.
func (m *AddressMap[T]) Add(addr uint64, value *T) { m.add(addr, unsafe.Pointer(value)) }

// addressMap is the code of all AddressMaps, whatever the type of their values.
type addressMap struct {
	Memory func(bytes uintptr) unsafe.Pointer // makes zeroed memory for the map; nil: it is on the heap
	slots  atomic.Pointer[[]slot]             // a power of two of them, at most half in use
	used   int
}

// slot is free while its address is 0. Its value is stored before its address.
type slot struct {
	addr  uint64
	value unsafe.Pointer
}

func (m *addressMap) get(addr uint64) (value unsafe.Pointer, ok bool) {
	if slots := m.slots.Load(); slots != nil && addr != 0 {
		if s := findSlot(*slots, addr); atomic.LoadUint64(&s.addr) == addr {
			return atomic.LoadPointer(&s.value), true
		}
	}
	return nil, false
}

// Len returns the number of addresses. It must not run concurrently with Add.
func (m *addressMap) Len() int { return m.used }

func (m *addressMap) add(addr uint64, value unsafe.Pointer) {
	slots := m.slots.Load()
	if slots == nil || 2*m.used >= len(*slots) {
		old := slots
		grown := m.room(max(64, 4*m.used))
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
	if s.addr != addr {
		atomic.StoreUint64(&s.addr, addr)
		m.used++
	}
}

func (m *addressMap) room(n int) []slot {
	if m.Memory == nil {
		return make([]slot, n)
	}
	return unsafe.Slice((*slot)(m.Memory(uintptr(n)*unsafe.Sizeof(slot{}))), n)
}

// findSlot returns the slot of an address, or the free slot where the address would be.
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
