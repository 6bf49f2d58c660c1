package goruntime

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

var errTypeSize = errors.New("an object has a type that is larger than the object")

// PointerWords calls visit with the index of each word of an object that may hold a pointer, in order
// (runtime/mbitmap.go, typePointers): small objects have bits at the end of their span, larger ones
// a type in their first word or in their span, whose mask repeats over the object.
func (m *Model) PointerWords(s *Span, obj uint32, visit func(word uint64)) error {
	if s.NoScan {
		return nil
	}
	if s.bits != nil {
		for b := s.SmallMask(obj); b != 0; b &= b - 1 {
			visit(uint64(bits.TrailingZeros64(b)))
		}
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
		for i := uint64(0); i < n; i += 8 {
			b := mask[i>>3]
			if n-i < 8 {
				b &= 1<<(n-i) - 1
			}
			for ; b != 0; b &= b - 1 {
				visit(elem + i + uint64(bits.TrailingZeros8(b)))
			}
		}
		if t.Size < 8 {
			return nil
		}
	}
	return nil
}

// SmallMask returns the pointer bits of a small object, a bit a word.
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

// AllocatedType returns the type that an object was allocated with (of an element, where it is an
// array) and the offset at which its memory begins; nil if the allocator kept none.
func (m *Model) AllocatedType(s *Span, obj uint32) (t *RType, start uint64) {
	switch {
	case s.NoScan || s.bits != nil:
		return nil, 0
	case s.HasHeader():
		b := s.Bytes(obj)
		return m.Type(binary.LittleEndian.Uint64(b)), headerSize
	default:
		return m.Type(s.largeType), 0
	}
}
