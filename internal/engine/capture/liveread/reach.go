package liveread

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// A Limit is the number of objects, or of bytes, above which a count stops.
type Limit struct{ Objects, Bytes int64 }

const (
	// maxSeen bounds how many objects and variables a walk comes across, and maxWords how many
	// words it reads: the process stands still during the walk, for a millisecond at most.
	maxSeen  = 1 << 14
	maxWords = 1 << 18
	// minSeen is the room for variables on the way, which do not count as objects.
	minSeen = 256
)

// A Walk counts the objects that one variable leads to. Run follows each word in which the
// collector would look for a pointer. It counts more than the attribution of a scan can charge to
// the variable, never less:
//
//   - A scan charges objects to a variable along references, which it knows by the variable's type,
//     by the types of the objects below, or by the tables of maps. Each of these references is in a
//     word that the masks show: an object that only other words lead to would be freed. The walk
//     follows all words of the masks, whatever their type. It also counts objects that other roots
//     lead to, which a scan may charge to one of those.
//   - References lead through data that the compiler made and gave no symbol; a scan knows its
//     extent by the type of the reference. The walk takes all memory between two symbols for one
//     such variable. It also follows references through variables, where a scan ends.
//   - Objects count once. Small values that share a block count once for each address, each with
//     the bytes of the whole block, which is more than they have. Map entries that have no objects
//     of their own count as objects in a scan. The walk adds the number of entries of each object
//     that looks like the header of a map: an object of that size whose only pointer is where a
//     header has its only pointer.
//   - In objects of more than 512 bytes the walk follows every word that could be a pointer.
//   - If a pointer leads onto a stack, or into memory of the arenas experiment, the walk proves
//     nothing.
type Walk struct {
	*Variables
	most Limit

	Objects, Bytes int64
	// inconclusive says that the count exceeds the limit, or that it cannot be told.
	inconclusive bool
	words        int
	todo         []uintptr // objects with pointers and variables, all of them in seen
	seen         []uintptr // hash table of addresses; 0 marks a free slot
	n            int       // number of addresses in seen
}

// Walk returns a walk from the variable with the given address in the debug information. It
// allocates all memory that the walk takes.
func (v *Variables) Walk(addr uint64, limit Limit) *Walk {
	room := maxSeen
	if limit.Objects < maxSeen-minSeen {
		room = int(limit.Objects) + minSeen
	}
	size := 1 << bits.Len(uint(2*room))
	w := &Walk{Variables: v, most: limit, todo: make([]uintptr, 0, room), seen: make([]uintptr, size)}
	if at := uintptr(addr + v.bias); w.segment(at) != nil { // else it holds no pointers
		w.add(at)
		w.push(at)
	}
	return w
}

// Within reports whether the walk counted all that the variable leads to, within the limit.
func (w *Walk) Within() bool { return !w.inconclusive }

// RunAll runs walks, and reports whether no other goroutine ran meanwhile. The caller must have
// the only processor. RunAll allocates nothing. If the caller's goroutine is preempted, schedtick
// changes when the goroutine goes on (go1.26 and go1.27 runtime/proc.go, execute): it comes from
// the global run queue, so it does not inherit a time slice.
//
//go:norace
func (v *Variables) RunAll(walks []*Walk) (alone bool) {
	before := v.schedTick()
	for _, w := range walks {
		w.run()
	}
	return v.schedTick() == before
}

// schedTick returns how many time slices the first processor has given out.
//
//go:norace
func (v *Variables) schedTick() uint32 {
	return uint32(offheap.Word(offheap.Word(v.at.AllPs) + v.p.Slices))
}

//go:norace
func (w *Walk) run() {
	for len(w.todo) > 0 && !w.inconclusive {
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

// variable follows the words of the variable at an address of a segment.
//
//go:norace
func (w *Walk) variable(seg *segment, at uintptr) {
	lo, hi := w.extent(seg, at)
	for p := lo &^ 7; p+8 <= hi && !w.inconclusive; p += 8 {
		i := (p - seg.lo) / 8
		if offheap.Byte(seg.mask+i/8)>>(i%8)&1 != 0 {
			w.follow(offheap.Word(p))
		}
		w.read()
	}
}

// extent returns the bounds of the symbol that an address of a segment lies in, or of the gap
// between two symbols.
//
//go:norace
func (w *Walk) extent(seg *segment, at uintptr) (lo, hi uintptr) {
	i, j := 0, len(w.globals) // i ends up behind the last symbol that begins at or before the address
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
	if s == 0 { // the object was freed: other goroutines ran meanwhile
		w.inconclusive = true
		return
	}
	elem := offheap.Word(s + w.mspan.ElemSize)
	if elem > rtlayout.MaxHeapBits {
		from := at
		if offheap.Byte(s+w.mspan.Class)>>1 != 0 {
			from += rtlayout.HeaderSize
		}
		for p := from; p+8 <= at+elem && !w.inconclusive; p += 8 {
			w.follow(offheap.Word(p))
			w.read()
		}
		return
	}
	mask := w.heapBits(offheap.Word(s+w.mspan.StartAddr), offheap.Word(s+w.mspan.Pages)*rtlayout.PageSize, elem, at)
	if elem == w.header.Size && mask == 1<<(w.header.Directory/8) {
		w.count(int64(min(offheap.Word(at+w.header.Used), 1<<40)), 0)
	}
	for ; mask != 0 && !w.inconclusive; mask &= mask - 1 {
		w.follow(offheap.Word(at + uintptr(bits.TrailingZeros64(mask))*8))
		w.read()
	}
}

// follow adds what a word points to, if the word is a pointer.
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
	if s == 0 || w.inconclusive {
		return
	}
	elem := offheap.Word(s + w.mspan.ElemSize)
	if elem == 0 { // the span is just being made: other goroutines ran meanwhile
		w.inconclusive = true
		return
	}
	at := offheap.Word(s + w.mspan.StartAddr)
	at += (p - at) / elem * elem
	class := offheap.Byte(s + w.mspan.Class)
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

// span returns the address of the runtime's record of the span that holds the object at an
// address, or 0 if there is none.
//
//go:norace
func (w *Walk) span(p uintptr) uintptr {
	s, special := w.spanAt(p)
	w.inconclusive = w.inconclusive || special
	return s
}

// add adds an address to seen, and reports whether it is new.
//
//go:norace
func (w *Walk) add(at uintptr) bool {
	if w.n == cap(w.todo) {
		w.inconclusive = true
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

// slot returns the index of an address in seen, or of the free slot where it belongs.
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
func (w *Walk) push(at uintptr) { w.todo = append(w.todo, at) } // todo has room for all of seen

//go:norace
func (w *Walk) count(objects, bytes int64) {
	w.Objects += objects
	w.Bytes += bytes
	w.inconclusive = w.inconclusive || w.Objects > w.most.Objects || w.Bytes > w.most.Bytes
}

//go:norace
func (w *Walk) read() {
	if w.words++; w.words > maxWords {
		w.inconclusive = true
	}
}
