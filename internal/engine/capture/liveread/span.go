package liveread

import (
	"errors"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// errMoved says that a collection ended, or was under way, while spans were read.
var errMoved = errors.New("a garbage collection was under way")

// A span is the part of a runtime span's record that a watch reads.
type span struct {
	base      uintptr
	pages     uintptr // size of the span in bytes
	size      uintptr // of an object
	bits      uintptr // address of its allocBits
	largeType uintptr // address of the descriptor of a large object's type
	elems     uint32
	free      uint32 // all objects before this one are allocated
	class     uint8  // runtime.spanClass: the size class twice, plus one without pointers
	arena     bool   // memory of the arenas experiment
}

// allocated reports whether an object is alive, or was when the last collection ended.
//
//go:norace
func (s *span) allocated(i uint32) bool {
	return i < s.free || offheap.Byte(s.bits+uintptr(i/8))>>(i%8)&1 != 0
}

// words is the number of 64-bit words of the span's bits.
func (s *span) words() int { return int(s.elems+63) / 64 }

// word returns 64 bits, without the bits beyond the last object.
func (s *span) word(i int) uint64 {
	w := uint64(offheap.Word(s.bits + uintptr(8*i)))
	if rest := s.elems - uint32(64*i); rest < 64 {
		w &= 1<<rest - 1
	}
	return w
}

// end is the address where the last object ends.
func (s *span) end() uintptr { return s.base + uintptr(s.elems)*s.size }

// mayHaveSlices reports whether the span's objects may hold slice headers.
func (s *span) mayHaveSlices() bool { return s.class&1 == 0 && s.size >= minHeader }

// mayHaveChannels reports whether the span's objects may be channels with a buffer: an object with
// the buffer if the elements have no pointers, else an object of its own.
func (s *span) mayHaveChannels(l *Layout) bool {
	const step = 16 // between the sizes of such objects
	return s.size > l.hchan.Size && s.class&1 != 0 || s.size-l.hchan.Size < step && s.class&1 == 0
}

const (
	classes    = 256
	largeClass = 1 // in classes up to it, each object has a span of its own, of any size (go1.26 runtime/sizeclasses.go)
)

// cycle is twice the number of collections that have ended.
func (l *Layout) cycle() uint32 { return offheap.Half(l.at.Heap + l.mheap.Sweepgen) }

// spans calls visit for each span in use, with its index in the runtime's list, which does not
// change. If swept is true, all spans have to be swept, as reading their bits requires (go1.26 and
// go1.27 runtime/mheap.go, mspan.sweepgen: equal to the heap's, or 3 more for a span that a
// processor has at hand).
func (l *Layout) spans(swept bool, visit func(k int, s *span)) error {
	generation := l.cycle()
	list, n := offheap.Word(l.at.Heap+l.mheap.AllSpans), int(offheap.Word(l.at.Heap+l.mheap.AllSpans+8))
	for k := range n {
		p := offheap.Word(list + uintptr(8*k))
		if offheap.Byte(p+l.mspan.State) != rtlayout.SpanInUse {
			continue
		}
		if g := offheap.Half(p + l.mspan.Sweepgen); swept && g != generation && g != generation+3 {
			return errMoved
		}
		s := span{
			base: offheap.Word(p + l.mspan.StartAddr), pages: offheap.Word(p+l.mspan.Pages) * rtlayout.PageSize,
			size: offheap.Word(p + l.mspan.ElemSize), bits: offheap.Word(p + l.mspan.AllocBits), largeType: offheap.Word(p + l.mspan.LargeType),
			elems: uint32(offheap.Quarter(p + l.mspan.Elems)), free: uint32(offheap.Quarter(p + l.mspan.FreeIndex)),
			class: offheap.Byte(p + l.mspan.Class), arena: offheap.Byte(p+l.mspan.UserArena) != 0,
		}
		if s.bits == 0 || s.size == 0 || s.elems == 0 {
			return errMoved // a span that is just being made
		}
		visit(k, &s)
	}
	if l.cycle() != generation {
		return errMoved
	}
	return nil
}

// spanAt returns the address of the runtime's record of the span that holds the object at an
// address, or 0 if there is none. special says that the address is that of a stack, or of memory of
// the arenas experiment. The runtime never gives back such records, nor the heap's memory.
//
//go:norace
func (l *Layout) spanAt(p uintptr) (record uintptr, special bool) {
	arena := (p - arenaBase()) >> rtlayout.ArenaShift
	if arena >= 1<<(addressBit-rtlayout.ArenaShift) {
		return 0, false
	}
	list := offheap.Word(l.at.Heap + l.mheap.Arenas + arena>>rtlayout.ArenaL2Bits*8)
	if list == 0 {
		return 0, false
	}
	a := offheap.Word(list + arena&(1<<rtlayout.ArenaL2Bits-1)*8)
	if a == 0 {
		return 0, false
	}
	s := offheap.Word(a + l.arena.Spans + (p>>rtlayout.PageShift)%arenaPages*8)
	if s == 0 {
		return 0, false
	}
	start := offheap.Word(s + l.mspan.StartAddr)
	state := offheap.Byte(s + l.mspan.State)
	if p < start || p >= start+offheap.Word(s+l.mspan.Pages)<<rtlayout.PageShift || state != rtlayout.SpanInUse && state != rtlayout.SpanManual {
		return 0, false
	}
	if state == rtlayout.SpanManual || offheap.Byte(s+l.mspan.UserArena) != 0 {
		return 0, true
	}
	if p >= offheap.Word(s+l.mspan.Limit) {
		return 0, false
	}
	return s, false
}

// behind returns how many bytes lie between an address and the end of its object, 0 if it is not
// on the heap. ok is false if it cannot tell.
//
//go:norace
func (l *Layout) behind(p uintptr) (size uintptr, ok bool) {
	s, special := l.spanAt(p)
	if s == 0 {
		return 0, !special
	}
	size = offheap.Word(s + l.mspan.ElemSize)
	if size == 0 { // the span is just being made
		return 0, false
	}
	return size - (p-offheap.Word(s+l.mspan.StartAddr))%size, true
}

// mapEntries reads an object as a map's header or table, and returns the number of entries
// recorded in it. ok is false for an object that is certainly neither; an object that looks like
// one counts as a map.
func (l *Layout) mapEntries(p, size uintptr) (uint32, bool) {
	if size == l.table.Size {
		used, capacity := offheap.Quarter(p+l.table.Used), offheap.Quarter(p+l.table.Capacity)
		return uint32(used), used <= capacity && capacity&(capacity-1) == 0 && capacity != 0
	}
	const most = 1 << 31
	used, directory, depth, shift := uint64(offheap.Word(p+l.header.Used)), uint64(offheap.Word(p+l.header.Length)), offheap.Byte(p+l.header.Depth), offheap.Byte(p+l.header.Shift)
	switch {
	case used >= most || depth > 32:
		return 0, false
	case directory == 0: // up to 8 entries, without a table
		return uint32(used), depth == 0 && used <= 8
	}
	return uint32(used), directory == 1<<depth && shift == 64-depth
}

// hasMaps reports whether maps' headers or tables may be among the objects of a span. Both are as
// large as a size class.
func (l *Layout) hasMaps(s *span) bool {
	return s.class&1 == 0 && (s.size == l.header.Size || s.size == l.table.Size)
}
