package liveread

import (
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// A Shape describes how the allocator records objects of a type with pointers.
type Shape struct {
	Size uintptr // in bytes
	// For types of up to rtlayout.MaxHeapBits bytes: Mask has a bit for each word that holds a
	// pointer, and Known a bit for each word of which that is known. What lies beyond holds none.
	Mask, Known uint64
	Hash        uint32 // of the descriptor of larger types
}

// fits reports whether a value of the shape takes an object of that size. The sizes of classes are
// at most 32 bytes apart up to MaxHeapBits, above that less than a quarter, and the largest are
// whole pages (go1.26 and go1.27 internal/runtime/gc/sizeclasses.go).
func (s *Shape) fits(size uintptr) bool {
	apart := uintptr(32)
	if size > rtlayout.MaxHeapBits {
		apart = min(size/4, rtlayout.PageSize)
	}
	return s.Size <= size && size-s.Size < apart
}

// CountShapes counts the heap objects that may have been allocated for a value of one of the
// shapes: all that are alive when it begins, and others that are garbage or new. It reads memory
// in place, a word or two for each object of such a size. It returns an error if, at each of
// several tries, not all spans were swept, or a collection ended.
//
//go:norace
func (l *Layout) CountShapes(shapes []Shape) (objects, bytes int64, err error) {
	err = tryAgain(func() error {
		objects, bytes = 0, 0
		return l.spans(true, func(_ int, s *span) {
			fit := uint(0) // a bit for each shape
			for k := range shapes {
				if shapes[k].fits(s.size) {
					fit |= 1 << k
				}
			}
			if s.class&1 != 0 || fit == 0 && !s.arena {
				return
			}
			n := int64(0)
			for i := range s.elems {
				if s.allocated(i) && (s.arena || l.mayBe(s, i, shapes, fit)) {
					n++
				}
			}
			objects, bytes = objects+n, bytes+n*int64(s.size)
		})
	})
	return objects, bytes, err
}

// mayBe reports whether an object may have one of the shapes whose bits are set.
//
//go:norace
func (l *Layout) mayBe(s *span, i uint32, shapes []Shape, fit uint) bool {
	at := s.base + uintptr(i)*s.size
	if s.size <= rtlayout.MaxHeapBits {
		mask := l.heapBits(s.base, s.pages, s.size, at)
		for k := range shapes {
			if fit>>k&1 != 0 && (mask^shapes[k].Mask)&shapes[k].Known == 0 {
				return true
			}
		}
		return false
	}
	descriptor := s.largeType
	if s.class > largeClass {
		descriptor = offheap.Word(at)
	}
	known := descriptor >= l.types && descriptor < l.typesEnd
	for k := range shapes {
		if fit>>k&1 != 0 && (!known || offheap.Half(descriptor+l.descriptor.Hash) == shapes[k].Hash) {
			return true
		}
	}
	return false
}

// heapBits returns the pointer bits of a small object, one bit for each word, given the address
// and size of its span, its own size and its address (go1.26 and go1.27 runtime/mbitmap.go,
// spanHeapBitsRange).
//
//go:norace
func (l *Layout) heapBits(span, size, object, at uintptr) uint64 {
	table := span + size - size/64
	if l.greenTea && object >= 16 {
		table -= rtlayout.InlineMarkBits
	}
	n, first := object/8, (at-span)/8
	b := uint64(offheap.Word(table+first/64*8)) >> (first % 64)
	if first%64+n > 64 {
		b |= uint64(offheap.Word(table+first/64*8+8)) << (64 - first%64)
	}
	if n < 64 {
		b &= 1<<n - 1
	}
	return b
}
