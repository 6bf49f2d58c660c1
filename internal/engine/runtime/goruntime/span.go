package goruntime

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// maxSpanSize bounds a span: the largest slice that a program on today's machines could make.
const maxSpanSize = 1 << 40

// maxSpans bounds the number of spans: a heap of 16 TiB in spans of a page would have more.
const maxSpans = 1 << 31 / 8

// A Span is a run of pages that holds objects of one size (runtime/mheap.go, mspan).
type Span struct {
	// The fields that Object needs come first, in one line of the processor's cache.
	Base, Limit uint64 // Limit is the end of the last object
	divMul      uint32
	NElems      uint32
	FirstObj    uint32 // number of its first object
	freeIndex   uint32
	scanIndex   uint32 // see Published
	marks       []byte // objects that the last collection found alive
	NoScan      bool   // its objects hold no pointers; their memory is not in the image
	Tiny        bool   // its 16-byte objects may be blocks of the tiny allocator
	swept       bool
	sweeping    bool // just being swept: see Sweeping

	ElemSize  uint64
	Mem       []byte // its memory, nil if NoScan
	bits      []byte // pointer bits of small objects
	Size      uint64 // of the whole span
	largeType uint64 // address of the type of a large object
	Specials  uint64 // address of the list of its specials, see EachSpecial
}

// A spanReader reads records of spans.
type spanReader struct {
	rtlayout.Span
	sweepgen uint32
}

// bitsAt has the addresses of the allocation and mark bits of a span.
type bitsAt struct{ alloc, marks uint64 }

// read reads the record of a span in use.
//
//go:norace
func (r *spanReader) read(b []byte) (s Span, bits bitsAt) {
	class := b[r.Class]
	s = Span{
		Base: u64(b, uint64(r.StartAddr)), Size: u64(b, uint64(r.Pages)) * rtlayout.PageSize, Limit: u64(b, uint64(r.Limit)),
		ElemSize: u64(b, uint64(r.ElemSize)), NElems: uint32(u16(b, uint64(r.Elems))), freeIndex: uint32(u16(b, uint64(r.FreeIndex))),
		scanIndex: uint32(u16(b, uint64(r.ScanIndex))), divMul: u32(b, uint64(r.DivMul)), NoScan: class&1 != 0, Tiny: class == rtlayout.TinySpanClass,
		largeType: u64(b, uint64(r.LargeType)), Specials: u64(b, uint64(r.Specials)),
	}
	gen := u32(b, uint64(r.Sweepgen))
	s.swept = gen != r.sweepgen-2 && gen != r.sweepgen-1 && gen != r.sweepgen+1
	s.sweeping = gen == r.sweepgen-1
	return s, bitsAt{u64(b, uint64(r.AllocBits)), u64(b, uint64(r.MarkBits))}
}

// loadSpanTable reads the spans in use and their mark bits.
//
//go:norace
func (m *Model) loadSpanTable() error {
	l := m.fields
	var at spanReader
	var heap rtlayout.Heap
	if l.Fill(&at.Span, &heap); l.Err() != nil {
		return l.Err()
	}
	mem, size, heapAddr := m.Mem, uint64(at.Size), uint64(m.variables.Heap)
	at.sweepgen = mem.U32(heapAddr + uint64(heap.Sweepgen))
	m.Cycles = at.sweepgen / 2 // each collection adds 2 (runtime/mgc.go, gcSweep)
	addrs, err := m.spanAddresses(heapAddr + uint64(heap.AllSpans))
	if err != nil {
		return err
	}
	if err := m.loadAround(addrs, size); err != nil {
		return err
	}
	spans := make([]Span, 0, len(addrs))
	var bits []bitsAt
	for _, a := range addrs {
		b := mem.Bytes(a, size)
		if b == nil {
			return mem.Err()
		}
		if b[at.State] != rtlayout.SpanInUse {
			continue
		}
		s, of := at.read(b)
		if !s.plausible() {
			return fmt.Errorf("a span of %d pages with %d elements of %d bytes is damaged", s.Size/rtlayout.PageSize, s.NElems, s.ElemSize)
		}
		if b[at.UserArena] != 0 {
			m.Warn("memory of the arenas experiment is scanned conservatively")
		}
		spans = append(spans, s)
		bits = append(bits, of)
	}
	// The bits of spans in use are carved from 64 KiB arenas: each page holds the bits of many
	// spans.
	var bitAddrs []uint64
	for _, b := range bits {
		bitAddrs = append(bitAddrs, b.alloc)
	}
	if err := m.loadAround(bitAddrs, maxMarkBytes); err != nil {
		return err
	}
	for i := range spans {
		m.loadMarks(&spans[i], bits[i].alloc, bits[i].marks)
	}
	if err := mem.Err(); err != nil {
		return err
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i].Base < spans[j].Base })
	m.Spans = spans
	return m.numberObjects()
}

// spanAddresses reads the addresses of all spans from the runtime's slice of them.
//
//go:norace
func (m *Model) spanAddresses(slice uint64) ([]uint64, error) {
	list, n := m.Mem.U64(slice), m.Mem.U64(slice+8)
	if n > maxSpans {
		return nil, fmt.Errorf("the heap claims %d spans", n)
	}
	ptrs, err := m.Mem.Load([]image.Range{{Addr: list, Len: n * 8}})
	if err != nil {
		return nil, err
	}
	if uint64(len(ptrs[0])) != n*8 {
		return nil, fmt.Errorf("the list of %d spans cannot be read", n)
	}
	return words(ptrs[0]), nil
}

// loadMarks reads a span's mark bits, given the addresses of its bitmaps.
//
//go:norace
func (m *Model) loadMarks(s *Span, alloc, marks uint64) {
	n := (uint64(s.NElems) + 7) / 8
	allocated := m.Mem.Bytes(alloc, n)
	if s.swept {
		s.marks = allocated
		return
	}
	m.Unswept++
	s.marks = m.Mem.Bytes(marks, n)
	if s.sweeping && len(allocated) == len(s.marks) {
		// The process was stopped between safe points: which of the two bitmaps holds the marks is
		// not known (runtime/mgcsweep.go, sweep).
		s.marks = slices.Clone(s.marks)
		for k := range allocated {
			s.marks[k] |= allocated[k]
		}
	}
}

// numberObjects numbers the slots of all spans, and makes the table from addresses to spans.
func (m *Model) numberObjects() error {
	total := uint64(0)
	for i := range m.Spans {
		s := &m.Spans[i]
		if i > 0 && s.Base < m.Spans[i-1].Base+m.Spans[i-1].Size {
			return errors.New("two spans overlap")
		}
		s.FirstObj = uint32(total)
		total += uint64(s.NElems)
		if s.NoScan && s.Size > rtlayout.ArenaSize && !m.Mem.Try(s.Base+s.Size-8, 8) {
			// the page table takes memory in proportion to the span
			return fmt.Errorf("a heap span of %d bytes cannot be read", s.Size)
		}
	}
	if total > 1<<32-2 {
		return fmt.Errorf("the heap has %d object slots, more than 2^32", total)
	}
	m.NumObjects = uint32(total)
	m.pages = newPageTable(m.Spans)
	m.indexSpans()
	return nil
}

// plausible reports whether the fields of a span agree (runtime/mheap.go, initSpan and
// allocNeedsZero; go1.26 and go1.27): objects fill most of the span, and divMul matches their size.
// Memory without pointers is not read, so no other check would show that a span is smaller than its
// size field says.
func (s *Span) plausible() bool {
	div := uint32(0)
	if s.divMul != 0 && s.ElemSize != 0 {
		div = ^uint32(0)/uint32(s.ElemSize) + 1
	}
	used := uint64(s.NElems) * s.ElemSize
	return s.Base%rtlayout.PageSize == 0 && s.Base+s.Size > s.Base && s.Size <= maxSpanSize && s.ElemSize != 0 && s.divMul == div &&
		used <= s.Size && s.Size-used <= s.Size/4+rtlayout.PageSize && (!s.Tiny || s.ElemSize == rtlayout.TinyBlock)
}

// maxMarkBytes is the length of the mark bits of the span with most objects (8-byte objects).
const maxMarkBytes = 1024 / 8

// loadObjects copies the memory of the spans that hold pointers.
func (m *Model) loadObjects() error {
	var ranges []image.Range
	var which []int
	for i := range m.Spans {
		if s := &m.Spans[i]; !s.NoScan {
			ranges = append(ranges, image.Range{Addr: s.Base, Len: s.Size})
			which = append(which, i)
		}
	}
	loaded, err := m.Mem.Load(ranges)
	if err != nil {
		return err
	}
	for k, i := range which {
		s := &m.Spans[i]
		if uint64(len(loaded[k])) != s.Size {
			n := uint64(len(loaded[k]))
			return fmt.Errorf("a heap span: %w", &image.ReadError{Range: image.Range{Addr: s.Base + n, Len: s.Size - n}})
		}
		s.Mem = loaded[k]
		if s.ElemSize > rtlayout.MaxHeapBits {
			continue
		}
		// A bit a word of the span, at its end, before the inline marks of the green tea collector
		// (runtime/mbitmap.go, spanHeapBitsRange).
		bits := s.Size / 8 / 8
		end := s.Size
		if m.hasInlineMarks(s) {
			end -= rtlayout.InlineMarkBits
			if !s.swept {
				s.merge(s.Mem[end:])
			}
		}
		s.bits = s.Mem[end-bits : end]
	}
	return m.loadInlineMarks(true)
}

// hasInlineMarks reports whether the green tea collector keeps marks at the end of a span, with or
// without pointers (go1.26 and go1.27 runtime/mgcmark_greenteagc.go, gcUsesSpanInlineMarkBits).
func (m *Model) hasInlineMarks(s *Span) bool {
	return m.greenTea && 16 <= s.ElemSize && s.ElemSize <= rtlayout.MaxHeapBits
}

// loadInlineMarks merges the inline marks of spans that are not swept: of all such spans, or, if
// noScan is set, only of those whose memory is not loaded otherwise. For many objects these are the
// only marks.
func (m *Model) loadInlineMarks(noScan bool) error {
	var ranges []image.Range
	var which []int
	for i := range m.Spans {
		if s := &m.Spans[i]; !s.swept && m.hasInlineMarks(s) && (s.NoScan || !noScan) {
			ranges = append(ranges, image.Range{Addr: s.Base + s.Size - rtlayout.InlineMarkBits, Len: rtlayout.InlineMarkBits})
			which = append(which, i)
		}
	}
	loaded, err := m.Mem.Load(ranges)
	if err != nil {
		return err
	}
	for k, i := range which {
		if len(loaded[k]) != rtlayout.InlineMarkBits {
			return errors.New("the marks of a heap span cannot be read")
		}
		m.Spans[i].merge(loaded[k])
	}
	return nil
}

// merge adds the marks of a spanInlineMarkBits, as sweeping will (runtime/mgcmark_greenteagc.go,
// moveInlineMarks).
func (s *Span) merge(inline []byte) {
	// the first 64 bytes are the bits of scanned objects; the last byte is the span's class
	inline = inline[64 : 64+63]
	s.marks = slices.Clone(s.marks)
	for i := range min(len(s.marks), len(inline)) {
		s.marks[i] |= inline[i]
	}
}

// loadAround copies the pages that hold n bytes at each of many scattered addresses.
func (m *Model) loadAround(addrs []uint64, n uint64) error {
	const page = 4 << 10
	pages := make([]image.Range, 0, len(addrs)/8)
	sorted := slices.Clone(addrs)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i] < sorted[j] })
	for _, a := range sorted {
		if a == 0 {
			continue
		}
		lo, hi := a&^(page-1), (a+n+page-1)&^(page-1)
		if k := len(pages); k > 0 && lo <= pages[k-1].End() {
			if hi > pages[k-1].End() {
				pages[k-1].Len = hi - pages[k-1].Addr
			}
			continue
		}
		pages = append(pages, image.Range{Addr: lo, Len: hi - lo})
	}
	_, err := m.Mem.Load(pages)
	return err
}

// Index returns the number of the span's slot that holds p.
func (s *Span) Index(p uint64) uint32 {
	if s.divMul == 0 { // a large object
		return 0
	}
	return uint32(uint64(uint32(p-s.Base)) * uint64(s.divMul) >> 32)
}

// Marked reports whether the last collection found object i alive.
func (s *Span) Marked(i uint32) bool {
	return s.marks[i>>3]>>(i&7)&1 != 0
}

// Sweeping reports whether the process was stopped while it swept the span. Marked is unreliable
// for dead objects of such a span.
func (s *Span) Sweeping() bool { return s.sweeping }

// Marks are the mark bits of the last collection.
func (s *Span) Marks() []byte { return s.marks }

// Allocated reports whether slot i holds an object: one that the last collection found alive, or
// one allocated since.
func (s *Span) Allocated(i uint32) bool { return i < s.freeIndex || s.Marked(i) }

// NewObjects counts the objects that were allocated since the last collection. A block of the tiny
// allocator counts once. A span that is not swept has no new objects.
func (m *Model) NewObjects() (n int) {
	for i := range m.Spans {
		s := &m.Spans[i]
		if !s.swept {
			continue
		}
		for slot := range s.freeIndex {
			if !s.Marked(slot) {
				n++
			}
		}
	}
	return n
}

// Published reports whether a scan may follow p. It returns false if p leads to an object that was
// not complete when the process was stopped. A register, or a frame of the allocator, holds a
// pointer to an object that is just being allocated, but the object's memory may still have its
// earlier contents (runtime/malloc.go, mallocgcSmallScanNoHeader; mbitmap.go, isFree). While a
// collection marks, complete new objects cannot be told from such objects.
func (m *Model) Published(p uint64) bool {
	s, i, ok := m.Slot(p)
	return !ok || i < s.scanIndex || s.Marked(i)
}

// Slot returns the span of an address and the number of the slot that holds it, whether or not the
// slot holds an object.
func (m *Model) Slot(p uint64) (s *Span, i uint32, ok bool) {
	k := m.pages.span(p)
	if k == 0 {
		return nil, 0, false
	}
	s = &m.Spans[k-1]
	i = s.Index(p)
	return s, i, p < s.Limit && i < s.NElems
}

// pageTable finds the span of an address, as mheap.arenas does: it maps the number of a page to the
// index of its span plus 1.
type pageTable struct {
	lo     uint64            // number of the first page
	dense  []int32           // entries of all pages from lo on
	sparse map[uint64]*arena // or entries by number of the arena, if the arenas lie far apart
}

type arena [rtlayout.ArenaSize / rtlayout.PageSize]int32

// maxDense is how many pages the dense table covers at most, gaps included: 1 TB. Except for gaps,
// the table's size is in proportion to the heap.
const maxDense = 1 << 40 / rtlayout.PageSize

func newPageTable(spans []Span) *pageTable {
	t := &pageTable{}
	if len(spans) == 0 {
		return t
	}
	last, pages := spans[len(spans)-1], uint64(0)
	for i := range spans {
		pages += spans[i].Size / rtlayout.PageSize
	}
	t.lo = spans[0].Base / rtlayout.PageSize
	// The heap grows by arenas, mostly without gaps.
	if n := (last.Base+last.Size)/rtlayout.PageSize - t.lo; n <= maxDense && n <= 64*pages+uint64(len(arena{})) {
		t.dense = make([]int32, n)
	} else {
		t.sparse = make(map[uint64]*arena)
	}
	for i := range spans {
		first := spans[i].Base / rtlayout.PageSize
		for p := first; p < first+spans[i].Size/rtlayout.PageSize; p++ {
			if t.dense != nil {
				t.dense[p-t.lo] = int32(i) + 1
				continue
			}
			a := t.sparse[p/uint64(len(arena{}))]
			if a == nil {
				a = new(arena)
				t.sparse[p/uint64(len(arena{}))] = a
			}
			a[p%uint64(len(arena{}))] = int32(i) + 1
		}
	}
	return t
}

// span returns the index of the span of an address plus 1, 0 if there is none.
func (t *pageTable) span(p uint64) int32 {
	p /= rtlayout.PageSize
	if i := p - t.lo; i < uint64(len(t.dense)) {
		return t.dense[i]
	}
	if t.sparse == nil {
		return 0
	}
	return t.inArena(p)
}

func (t *pageTable) inArena(page uint64) int32 {
	if a := t.sparse[page/uint64(len(arena{}))]; a != nil {
		return a[page%uint64(len(arena{}))]
	}
	return 0
}

// NoObject is what Object returns for an address that no object holds.
const NoObject = ^uint32(0)

// Object returns the span and the number of the allocated object that holds p.
//
//go:norace
func (m *Model) Object(p uint64) (*Span, uint32) {
	i := m.pages.span(p)
	if i == 0 {
		return nil, NoObject
	}
	s := &m.Spans[i-1]
	if p >= s.Limit {
		return nil, NoObject
	}
	k := s.Index(p)
	if k >= s.NElems || !s.Allocated(k) {
		return nil, NoObject
	}
	return s, s.FirstObj + k
}

// spanStep is how many objects share an entry of Model.spanAt.
const spanStep = 64

// indexSpans makes spanAt, which speeds up SpanOf.
func (m *Model) indexSpans() {
	m.spanAt = make([]uint32, m.NumObjects/spanStep+1)
	next := uint32(0) // entry to fill in
	for i := range m.Spans {
		for s := &m.Spans[i]; next < uint32(len(m.spanAt)) && next*spanStep < s.FirstObj+s.NElems; next++ {
			m.spanAt[next] = uint32(i)
		}
	}
}

// SpanOf returns the span of an object number.
func (m *Model) SpanOf(obj uint32) *Span {
	i := m.spanAt[obj/spanStep]
	for obj-m.Spans[i].FirstObj >= m.Spans[i].NElems {
		i++
	}
	return &m.Spans[i]
}

// Addr returns the address of object number obj of the span.
func (s *Span) Addr(obj uint32) uint64 { return s.Base + uint64(obj-s.FirstObj)*s.ElemSize }

// Bytes returns the memory of object number obj, nil for objects without pointers.
func (s *Span) Bytes(obj uint32) []byte {
	if s.NoScan {
		return nil
	}
	off := uint64(obj-s.FirstObj) * s.ElemSize
	return s.Mem[off : off+s.ElemSize : off+s.ElemSize]
}

// HasHeader reports whether the span's objects begin with a word that points to their type.
func (s *Span) HasHeader() bool {
	return !s.NoScan && s.ElemSize > rtlayout.MaxHeapBits && s.divMul != 0
}
