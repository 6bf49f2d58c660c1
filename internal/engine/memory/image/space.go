// Package image is the memory of a frozen process, as far as it has been copied out: a sparse
// address space. Callers load large ranges in bulk; the space fetches small reads in chunks of a
// few pages. The package knows nothing of Go.
package image

import (
	"encoding/binary"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
)

// A Range is a stretch of the frozen process's address space.
type Range struct{ Addr, Len uint64 }

// End returns the first address behind the range.
func (r Range) End() uint64 { return r.Addr + r.Len }

// Holds reports whether all of another range lies in the range.
func (r Range) Holds(other Range) bool { return r.Addr <= other.Addr && other.End() <= r.End() }

// Overlaps reports whether the range has memory in common with one of others.
func (r Range) Overlaps(others []Range) bool {
	for _, o := range others {
		if r.Addr < o.End() && o.Addr < r.End() {
			return true
		}
	}
	return false
}

// A Source hands out the memory of a frozen process. Copy returns one slice for each range, in
// order; a slice that is shorter than its range ends where memory could not be read. The slices
// stay valid until the source is closed.
type Source interface {
	Copy(ranges []Range) ([][]byte, error)
}

// A Piece is memory of the frozen process at its address.
type Piece struct {
	Addr uint64
	Data []byte
}

// A Holder is a source that has all of the memory at hand: memory outside of its pieces cannot be
// read. The pieces are sorted by address, do not overlap, and stay valid until the source is
// closed.
type Holder interface {
	Held() []Piece
}

// A Lender is a source that has some of the memory at hand: memory that the frozen process can
// never have written to. Lend returns nil for other memory.
type Lender interface {
	Lend(r Range) []byte
}

// chunk is how many bytes are fetched around an address that no bulk load covers: the runtime's own
// allocators (persistentalloc, fixalloc) hand out neighbouring records from pieces of 16 KiB or
// more.
const chunk = 16 << 10

// maxFaulted bounds what small reads may fetch, so that a damaged image whose pointers lead
// everywhere cannot make the reader copy everything.
const maxFaulted = 256 << 20

// Space is the memory copied so far. It is safe for concurrent use: reads of memory that is
// here already take no lock, the others take turns. Any goroutine may read the slices that it hands
// out.
//
// Reads have a sticky error: a read of unreadable memory yields zeros, and Err returns the first
// failure. Readers of linked structures need no check at each step, provided that they bound their
// loops.
type Space struct {
	regions atomic.Pointer[[]Piece] // sorted by address, not overlapping; replaced as a whole
	recent  uint32                  // relaxed: index of the region that was read last
	failure atomic.Pointer[ReadError]
	broken  atomic.Pointer[error] // the source's first error

	mu     sync.Mutex // guards the fields below
	source Source
	faults objset.AddressMap[[]byte] // chunks, by their number plus one: 0 is no key; Get takes no lock
	held   bool                      // source is a Holder: regions has all memory from the start
}

func (r *Piece) contains(addr uint64) bool { return addr-r.Addr < uint64(len(r.Data)) }

// A ReadError is memory that the frozen process does not have, or may not read.
type ReadError struct{ Range }

// Error implements error.
func (e *ReadError) Error() string {
	return fmt.Sprintf("%d bytes at %#x are not readable in the frozen process", e.Len, e.Addr)
}

// NewSpace returns a space over a source. It has the memory that a Holder holds; over another
// source it is empty at first.
func NewSpace(source Source) *Space {
	s := &Space{source: source}
	regions := []Piece{}
	if h, ok := source.(Holder); ok {
		regions, s.held = h.Held(), true
	}
	s.regions.Store(&regions)
	return s
}

// Broken returns why the source has failed, if it has: reads after the failure may lack memory that
// exists.
func (s *Space) Broken() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// Err returns why the source has failed, or else the first read that failed, if any.
func (s *Space) Err() error {
	if err := s.Broken(); err != nil {
		return err
	}
	if f := s.failure.Load(); f != nil {
		return f
	}
	return nil
}

func (s *Space) fail(addr, n uint64) { s.failure.CompareAndSwap(nil, &ReadError{Range{addr, n}}) }

// Load copies ranges in bulk and returns their contents in order. Overlapping ranges are copied
// once each; ranges that touch each other are copied as one, so that sorted neighbours cost little.
func (s *Space) Load(ranges []Range) ([][]byte, error) { return s.load(ranges, nil) }

// Copy is Load for memory that is not read again: the space does not keep it.
func (s *Space) Copy(ranges []Range) ([][]byte, error) {
	if s.held {
		return s.heldRanges(ranges), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Copy(ranges)
}

// LoadConstants is Load for memory that programs do not write to: it is not copied if the source
// can lend it.
func (s *Space) LoadConstants(ranges []Range) ([][]byte, error) {
	lender, _ := s.source.(Lender)
	return s.load(ranges, lender)
}

//go:norace
func (s *Space) load(ranges []Range, lender Lender) ([][]byte, error) {
	if s.held {
		return s.heldRanges(ranges), nil
	}
	merged := Union(ranges)
	s.mu.Lock()
	defer s.mu.Unlock()
	loaded := make([]Piece, 0, len(merged))
	if lender != nil {
		rest := merged[:0]
		for _, r := range merged {
			if lent := lender.Lend(r); lent != nil {
				loaded = append(loaded, Piece{r.Addr, lent})
			} else {
				rest = append(rest, r)
			}
		}
		merged = rest
	}
	if len(merged) > 0 {
		copied, err := s.source.Copy(merged)
		if err != nil {
			return nil, fmt.Errorf("copying %d ranges out of the frozen process: %w", len(merged), err)
		}
		for i, r := range merged {
			if len(copied[i]) > 0 {
				loaded = append(loaded, Piece{r.Addr, copied[i]})
			}
		}
	}
	byAddress(loaded)
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		out[i] = sliceOf(loaded, r)
	}
	before := *s.regions.Load()
	all := make([]Piece, 0, len(before)+len(loaded))
	all = append(append(all, before...), loaded...)
	byAddress(all)
	s.regions.Store(&all)
	return out, nil
}

// heldRanges returns as much of each range as one piece has, or several that touch.
func (s *Space) heldRanges(ranges []Range) [][]byte {
	regions := *s.regions.Load()
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		b := sliceOf(regions, r)
		for len(b) > 0 && uint64(len(b)) < r.Len {
			more := sliceOf(regions, Range{r.Addr + uint64(len(b)), r.Len - uint64(len(b))})
			if len(more) == 0 {
				break
			}
			b = append(b[:len(b):len(b)], more...)
		}
		out[i] = b
	}
	return out
}

func byAddress(regions []Piece) {
	sort.SliceStable(regions, func(i, j int) bool { return regions[i].Addr < regions[j].Addr })
}

// Union returns the same memory as sorted, disjoint, non-touching ranges. It leaves out a range
// that goes beyond the last address: it cannot be read.
func Union(ranges []Range) []Range {
	sorted := append([]Range(nil), ranges...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Addr < sorted[j].Addr })
	var merged []Range
	for _, r := range sorted {
		if r.End() <= r.Addr {
			continue
		}
		if n := len(merged); n > 0 && r.Addr <= merged[n-1].End() {
			if end := r.End(); end > merged[n-1].End() {
				merged[n-1].Len = end - merged[n-1].Addr
			}
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

func sliceOf(regions []Piece, r Range) []byte {
	i, ok := findRegion(regions, r.Addr)
	if !ok {
		return nil
	}
	data := regions[i].Data[r.Addr-regions[i].Addr:]
	if uint64(len(data)) > r.Len {
		data = data[:r.Len:r.Len]
	}
	return data
}

func findRegion(regions []Piece, addr uint64) (int, bool) {
	lo, hi := 0, len(regions)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if regions[mid].Addr <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	// A later, shorter region may start behind the one that holds addr only if regions overlap,
	// which bulk loads of distinct memory kinds do not.
	if lo > 0 && regions[lo-1].contains(addr) {
		return lo - 1, true
	}
	return 0, false
}

// Bytes returns n bytes at addr, or nil (and a sticky error) where they cannot be read. The slice
// may alias the image and must not be written to.
func (s *Space) Bytes(addr, n uint64) []byte {
	b := s.read(addr, n)
	if b == nil {
		s.fail(addr, n)
	}
	return b
}

// Try reports whether n bytes at addr can be read, without leaving a sticky error.
func (s *Space) Try(addr, n uint64) bool { return s.read(addr, n) != nil }

//go:norace
func (s *Space) read(addr, n uint64) []byte {
	if b := s.peek(addr, n); b != nil {
		return b
	}
	if n == 0 {
		return []byte{}
	}
	if n > maxFaulted || addr+n < addr {
		return nil
	}
	// A read across chunks is put together. The buffer grows with the bytes that are found, since
	// the length may be nonsense.
	var out []byte
	for {
		c := s.fault(addr + uint64(len(out)))
		if c == nil {
			return nil
		}
		if rest := n - uint64(len(out)); uint64(len(c)) >= rest {
			if out == nil {
				return c[:rest:rest]
			}
			return append(out, c[:rest]...)
		}
		out = append(out, c...)
	}
}

// peek returns n bytes at addr if one bulk load brought all of them, else nil.
func (s *Space) peek(addr, n uint64) []byte {
	regions := *s.regions.Load()
	i := int(offheap.Load32(&s.recent))
	if i >= len(regions) || !regions[i].contains(addr) {
		var ok bool
		if i, ok = findRegion(regions, addr); !ok {
			return nil
		}
		offheap.Store32(&s.recent, uint32(i))
	}
	r := &regions[i]
	off := addr - r.Addr
	if n > uint64(len(r.Data))-off {
		return nil
	}
	return r.Data[off : off+n : off+n]
}

// fault returns the readable bytes from addr to the end of its region or chunk.
func (s *Space) fault(addr uint64) []byte {
	regions := *s.regions.Load()
	if i, ok := findRegion(regions, addr); ok {
		return regions[i].Data[addr-regions[i].Addr:]
	}
	if s.held {
		return nil
	}
	c, ok := s.faults.Get(addr/chunk + 1)
	if !ok {
		c = s.fetchOnce(addr / chunk)
	}
	if off := addr % chunk; c != nil && off < uint64(len(*c)) {
		return (*c)[off:]
	}
	return nil
}

// fetchOnce fetches the nth chunk, unless another goroutine has fetched it meanwhile; nil beyond
// maxFaulted.
func (s *Space) fetchOnce(n uint64) *[]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.faults.Get(n + 1)
	if !ok && s.faults.Len() < maxFaulted/chunk {
		fetched := s.fetch(n * chunk)
		c = &fetched
		s.faults.Add(n+1, c)
	}
	return c
}

// fetch copies one chunk. If the chunk cannot be read as a whole, fetch copies its pages one by
// one; unreadable pages before the last readable one read as zeros, since chunks are larger than
// pages.
func (s *Space) fetch(base uint64) []byte {
	const page = 4 << 10
	whole, err := s.source.Copy([]Range{{base, chunk}})
	if err != nil {
		s.broken.CompareAndSwap(nil, &err)
		return nil
	}
	if len(whole[0]) == chunk {
		return whole[0]
	}
	var out []byte
	for off := uint64(0); off < chunk; off += page {
		got, err := s.source.Copy([]Range{{base + off, page}})
		if err != nil {
			s.broken.CompareAndSwap(nil, &err)
			return nil
		}
		if len(got[0]) == page {
			out = append(append(out, make([]byte, off-uint64(len(out)))...), got[0]...)
		}
	}
	return out
}

// U8 reads a byte.
func (s *Space) U8(addr uint64) uint8 {
	if b := s.Bytes(addr, 1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads a little-endian 16-bit word.
func (s *Space) U16(addr uint64) uint16 {
	if b := s.Bytes(addr, 2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads a little-endian 32-bit word.
func (s *Space) U32(addr uint64) uint32 {
	b := s.read(addr, 4)
	if b == nil {
		s.fail(addr, 4)
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// U64 reads a little-endian 64-bit word.
//
//go:norace
func (s *Space) U64(addr uint64) uint64 {
	b := s.read(addr, 8)
	if b == nil {
		s.fail(addr, 8)
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}
