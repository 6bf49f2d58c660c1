package goruntime

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

var errTypeSize = errors.New("an object has a type that is larger than the object")

// PointerWords calls visit with the index of each word of an object that may hold a pointer, in
// order. See PointerMasks.
func (m *Model) PointerWords(s *Span, obj uint32, visit func(word uint64)) error {
	return m.PointerMasks(s, obj, func(first, mask uint64) {
		for ; mask != 0; mask &= mask - 1 {
			visit(first + uint64(bits.TrailingZeros64(mask)))
		}
	})
}

// PointerMasks calls visit with the words of an object that may hold pointers, in order: mask has a
// bit for each word, for up to 64 words from the word first on (runtime/mbitmap.go, typePointers).
// The bits of small objects are at the end of their span. Larger objects have a type, in their
// first word or in their span; its mask repeats over the object.
//
//go:norace
func (m *Model) PointerMasks(s *Span, obj uint32, visit func(first, mask uint64)) error {
	if s.NoScan {
		return nil
	}
	if s.bits != nil {
		visit(0, s.SmallMask(obj))
		return nil
	}
	t, start := m.AllocatedType(s, obj)
	if t == nil || t.PtrBytes == 0 || t.Size == 0 {
		return nil // not yet initialised: the collector would not look either
	}
	if t.Size > s.ElemSize-start {
		return errTypeSize
	}
	mask, err := m.Mask(t)
	if err != nil {
		return err
	}
	words := s.ElemSize / 8
	ptrWords := t.PtrBytes / 8
	for elem := start / 8; elem < words; elem += t.Size / 8 {
		n := min(ptrWords, words-elem)
		for i := uint64(0); i < n; i += 64 {
			if b := maskWord(mask, i); n-i >= 64 {
				visit(elem+i, b)
			} else {
				visit(elem+i, b&(1<<(n-i)-1))
			}
		}
		if t.Size < 8 {
			return nil
		}
	}
	return nil
}

// FetchAhead is how many objects Fetch should get at a time.
const FetchAhead = 16

// Fetch reads a byte of each object with pointers, and of its mask. The processor then waits for
// all cache lines at once, and not for each in turn when the objects are read. The sum has no
// meaning.
//
//go:norace
func (m *Model) Fetch(objs []uint32) (sum byte) {
	for _, obj := range objs {
		s := m.SpanOf(obj)
		if s.NoScan {
			continue
		}
		sum += s.Mem[uint64(obj-s.FirstObj)*s.ElemSize] + s.FetchMask(obj)
	}
	return sum
}

// FetchMask reads a byte of the mask of a small object, see Fetch; it returns 0 for other objects.
func (s *Span) FetchMask(obj uint32) byte {
	if s.bits == nil {
		return 0
	}
	return s.bits[uint64(obj-s.FirstObj)*s.ElemSize/64]
}

// maskWord returns 64 bits of a mask, zeros behind its end.
func maskWord(mask []byte, bit uint64) uint64 {
	mask = mask[bit/8:]
	if len(mask) >= 8 {
		return binary.LittleEndian.Uint64(mask)
	}
	w := uint64(0)
	for i, b := range mask {
		w |= uint64(b) << (8 * i)
	}
	return w
}

// SmallMask returns the pointer bits of a small object, one bit for each word.
func (s *Span) SmallMask(obj uint32) uint64 {
	n := s.ElemSize / 8
	first := uint64(obj-s.FirstObj) * n
	i := first / 64 * 8
	if i+8 > uint64(len(s.bits)) {
		return 0
	}
	b := binary.LittleEndian.Uint64(s.bits[i:]) >> (first % 64)
	if first%64+n > 64 && i+16 <= uint64(len(s.bits)) {
		b |= binary.LittleEndian.Uint64(s.bits[i+8:]) << (64 - first%64)
	}
	if n < 64 {
		b &= 1<<n - 1
	}
	return b
}

// HasSmallMask reports whether the pointer bits of the span's objects are in the span.
func (s *Span) HasSmallMask() bool { return s.bits != nil }

// AllocatedType returns the type that an object was allocated with (the element type, if it is an
// array) and the offset at which the value begins; nil if the allocator recorded no type.
func (m *Model) AllocatedType(s *Span, obj uint32) (t *RType, start uint64) {
	switch {
	case s.NoScan || s.bits != nil:
		return nil, 0
	case s.HasHeader():
		b := s.Bytes(obj)
		return m.Type(binary.LittleEndian.Uint64(b)), rtlayout.HeaderSize
	default:
		return m.Type(s.largeType), 0
	}
}
