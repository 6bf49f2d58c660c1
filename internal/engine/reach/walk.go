package reach

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/peek"
	"github.com/leakgate/leakgate/internal/engine/rtlayout"
)

// A Limit is where a count stops: at more objects, or more bytes.
type Limit struct{ Objects, Bytes int64 }

const (
	// maxSeen bounds how many objects and variables a walk comes across, and maxWords how many words
	// it reads: the process stands still for it, for a millisecond at most.
	maxSeen  = 1 << 14
	maxWords = 1 << 18
	// minSeen are those that count for nothing: variables on the way.
	minSeen = 256
)

// A Walk counts what one variable leads to. Run follows each word in which the collector would look
// for a pointer, and counts more than the attribution of a scan can charge to the variable, never
// less:
//
//   - What is charged to a variable hangs on it by references of its type, of the types of the objects
//     below, or of the tables of maps. Each of these is in a word that the masks show, since an object
//     that only other words lead to would be freed. The walk follows all words of the masks, whatever
//     their type, and whoever else leads to the same objects, which a scan may charge to another root.
//   - References lead through data that the compiler made and gave no symbol; a scan has its extent by
//     the type of the reference. The walk takes all that lies between two symbols for one, and goes
//     through variables, too, where a scan ends.
//   - Objects count once. So do small values that share a block, by address, each with the bytes of the
//     block, which is more than they have. Entries of maps that have no objects of their own count as
//     objects in a scan; the walk adds the number of entries of whatever looks like the header of a map:
//     an object of that size with a pointer where a header has its only one.
//   - In objects of more than 512 bytes every word is followed that could be a pointer.
//   - Where a pointer leads onto a stack, or into memory of the arenas experiment, nothing is proved.
type Walk struct {
	*Layout
	most Limit

	Objects, Bytes int64
	// over says that there is more than the limit, or more than can be told.
	over  bool
	words int
	todo  []uintptr // objects with pointers and variables, all of them in seen
	seen  []uintptr // addresses, hashed; 0 is none
	n     int       // of seen
}

// Variable returns a walk from the variable with the given address in the debug information. All
// memory for it is allocated here.
func (l *Layout) Variable(addr uint64, limit Limit) *Walk {
	room := maxSeen
	if limit.Objects < maxSeen-minSeen {
		room = int(limit.Objects) + minSeen
	}
	size := 1 << bits.Len(uint(2*room))
	w := &Walk{Layout: l, most: limit, todo: make([]uintptr, 0, room), seen: make([]uintptr, size)}
	if at := uintptr(addr + l.bias); w.segment(at) != nil { // else it holds no pointers
		w.add(at)
		w.push(at)
	}
	return w
}

// Within reports whether all that the variable leads to was counted, and is within the limit.
func (w *Walk) Within() bool { return !w.over }

// RunAll runs walks, and reports whether no other goroutine ran meanwhile. The caller must have the
// only processor; it allocates nothing. A goroutine that is put aside is given a new number of the
// processor's time slices when it goes on (go1.26 and go1.27 runtime/proc.go, execute): it does not
// inherit one, since it comes from the queue of all processors.
//
//go:norace
func (l *Layout) RunAll(walks []*Walk) (alone bool) {
	before := l.slices()
	for _, w := range walks {
		w.run()
	}
	return l.slices() == before
}

// slices is how many time slices the first processor has given out.
//
//go:norace
func (l *Layout) slices() uint32 { return uint32(peek.Word(peek.Word(l.allp) + l.at[processorSlices])) }

//go:norace
func (w *Walk) run() {
	for len(w.todo) > 0 && !w.over {
		at := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		if seg := w.segment(at); seg != nil {
			w.variable(seg, at)
		} else {
			w.object(at)
		}
	}
}

//go:norace
func (w *Walk) segment(p uintptr) *segment {
	for i := range w.segments {
		if s := &w.segments[i]; s.lo <= p && p < s.hi {
			return s
		}
	}
	return nil
}

// variable follows the words of what lies at an address of a segment.
//
//go:norace
func (w *Walk) variable(seg *segment, at uintptr) {
	lo, hi := w.extent(seg, at)
	for p := lo &^ 7; p+8 <= hi && !w.over; p += 8 {
		i := (p - seg.lo) / 8
		if peek.Byte(seg.mask+i/8)>>(i%8)&1 != 0 {
			w.follow(peek.Word(p))
		}
		w.read()
	}
}

// extent returns what symbol an address of a segment lies in, or between which two.
//
//go:norace
func (w *Walk) extent(seg *segment, at uintptr) (lo, hi uintptr) {
	i, j := 0, len(w.globals) // the last that begins at or before
	for i < j {
		mid := int(uint(i+j) >> 1)
		if uintptr(w.globals[mid].Addr+w.bias) <= at {
			i = mid + 1
		} else {
			j = mid
		}
	}
	lo, hi = seg.lo, seg.hi
	if i < len(w.globals) {
		hi = min(hi, uintptr(w.globals[i].Addr+w.bias))
	}
	for i--; i >= 0; i-- {
		g := &w.globals[i]
		if g.Size <= 0 {
			continue
		}
		begin := uintptr(g.Addr + w.bias)
		if end := begin + uintptr(g.Size); at < end {
			return max(lo, begin), min(seg.hi, end)
		}
		return max(lo, begin+uintptr(g.Size)), hi
	}
	return lo, hi
}

// object follows the words of an object with pointers.
//
//go:norace
func (w *Walk) object(at uintptr) {
	s := w.span(at)
	if s == 0 { // it was freed: other goroutines ran meanwhile
		w.over = true
		return
	}
	elem := peek.Word(s + w.at[spanElem])
	if elem > rtlayout.MaxHeapBits {
		from := at
		if peek.Byte(s+w.at[spanClass])>>1 != 0 {
			from += rtlayout.HeaderSize
		}
		for p := from; p+8 <= at+elem && !w.over; p += 8 {
			w.follow(peek.Word(p))
			w.read()
		}
		return
	}
	mask := w.mask(s, at, elem)
	if elem == w.mapSize && mask == 1<<(w.at[mapDir]/8) {
		w.count(int64(min(peek.Word(at+w.at[mapUsed]), 1<<40)), 0)
	}
	for ; mask != 0 && !w.over; mask &= mask - 1 {
		w.follow(peek.Word(at + uintptr(bits.TrailingZeros64(mask))*8))
		w.read()
	}
}

// mask returns the pointer bits of a small object, a bit a word (runtime/mbitmap.go,
// spanHeapBitsRange).
//
//go:norace
func (w *Walk) mask(s, at, elem uintptr) uint64 {
	start, size := peek.Word(s+w.at[spanStart]), peek.Word(s+w.at[spanPages])<<rtlayout.PageShift
	table := start + size - size/64
	if w.greenTea && elem >= 16 {
		table -= rtlayout.InlineMarkBits
	}
	n := elem / 8
	first := (at - start) / 8
	b := uint64(peek.Word(table+first/64*8)) >> (first % 64)
	if first%64+n > 64 {
		b |= uint64(peek.Word(table+first/64*8+8)) << (64 - first%64)
	}
	if n < 64 {
		b &= 1<<n - 1
	}
	return b
}

// follow takes a word that may be a pointer.
//
//go:norace
func (w *Walk) follow(p uintptr) {
	if p == 0 {
		return
	}
	if seg := w.segment(p); seg != nil {
		lo, _ := w.extent(seg, p)
		if w.add(lo) {
			w.push(lo)
		}
		return
	}
	s := w.span(p)
	if s == 0 || w.over {
		return
	}
	elem := peek.Word(s + w.at[spanElem])
	if elem == 0 { // it is just being made: other goroutines ran meanwhile
		w.over = true
		return
	}
	at := peek.Word(s + w.at[spanStart])
	at += (p - at) / elem * elem
	class := peek.Byte(s + w.at[spanClass])
	if class == rtlayout.TinySpanClass {
		at = p
	}
	if !w.add(at) {
		return
	}
	w.count(1, int64(elem))
	if class&1 == 0 {
		w.push(at)
	}
}

// span returns the runtime's record of the span that holds an object at an address, 0 if there is
// none. Such records are never given back, and neither is the heap's memory.
//
//go:norace
func (w *Walk) span(p uintptr) uintptr {
	arena := (p - arenaBase()) >> rtlayout.ArenaShift
	if arena >= 1<<(addressBit-rtlayout.ArenaShift) {
		return 0
	}
	list := peek.Word(w.arenas + arena>>rtlayout.ArenaL2Bits*8)
	if list == 0 {
		return 0
	}
	a := peek.Word(list + arena&(1<<rtlayout.ArenaL2Bits-1)*8)
	if a == 0 {
		return 0
	}
	s := peek.Word(a + w.at[arenaSpans] + (p>>rtlayout.PageShift)%arenaPages*8)
	if s == 0 {
		return 0
	}
	start := peek.Word(s + w.at[spanStart])
	state := peek.Byte(s + w.at[spanState])
	if p < start || p >= start+peek.Word(s+w.at[spanPages])<<rtlayout.PageShift || state != rtlayout.SpanInUse && state != rtlayout.SpanManual {
		return 0
	}
	if state == rtlayout.SpanManual || peek.Byte(s+w.at[spanUserArena]) != 0 {
		w.over = true
		return 0
	}
	if p >= peek.Word(s+w.at[spanLimit]) {
		return 0
	}
	return s
}

// add reports whether an address is new.
//
//go:norace
func (w *Walk) add(at uintptr) bool {
	if w.n == cap(w.todo) {
		w.over = true
		return false
	}
	i := w.slot(at)
	if w.seen[i] == at {
		return false
	}
	w.seen[i] = at
	w.n++
	return true
}

// slot returns where an address is among those that were seen, or has its place.
//
//go:norace
func (w *Walk) slot(at uintptr) int {
	i := int(uint64(at) * 0x9e3779b97f4a7c15 >> 32)
	for {
		i &= len(w.seen) - 1
		if w.seen[i] == at || w.seen[i] == 0 {
			return i
		}
		i++
	}
}

//go:norace
func (w *Walk) push(at uintptr) { w.todo = append(w.todo, at) } // there is room for all of seen

//go:norace
func (w *Walk) count(objects, bytes int64) {
	w.Objects += objects
	w.Bytes += bytes
	w.over = w.over || w.Objects > w.most.Objects || w.Bytes > w.most.Bytes
}

//go:norace
func (w *Walk) read() {
	if w.words++; w.words > maxWords {
		w.over = true
	}
}
