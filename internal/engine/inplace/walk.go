//go:build linux && (amd64 || arm64)

package inplace

import "unsafe"

// What a walk does with the memory that it comes to.
const (
	measure = iota // adds up how much there is
	mark           // notes the pages of the mirror that a copy will need
	copying
)

// How a walk ended.
const (
	whole      = iota
	collecting // a collection was under way
	noRoom     // there was more than in the walk before
	refused    // the system gave no memory, see errno
)

// pageSize is that of the heap (runtime/internal/sys, PageSize), which spans begin at.
const pageSize = 8 << 10

// Spans of stacks up to this size hold several, and those that are free are linked through their
// first words (runtime/stack.go, stackpoolalloc and _StackCacheSize). Larger ones hold one.
const poolSpan = 32 << 10

// Of objects without pointers only small ones are read: functions' values, and what the green tea
// collector keeps at the end of a span (package rtlayout, MaxHeapBits).
const smallObject = 512

// inlineMarks is the size of what lies there (package rtlayout, InlineMarkBits).
const inlineMarks = 128

// Spans larger than this must be readable at their end (package goruntime, numberObjects).
const largeSpan = 64 << 20

// chunkSize is how much the runtime takes for its own records at a time (runtime/malloc.go,
// persistentChunkSize). Each chunk begins with the address of the one before.
const chunkSize = 256 << 10

// States of a span and of a goroutine (package rtlayout).
const (
	spanInUse, spanManual      = 1, 2
	idle, running, dead, extra = 0, 2, 6, 11
	scanning                   = 0x1000
)

// control is all that a walk needs. It lies outside of the Go heap. The assembly takes the field
// offsets from go_asm.h.
type control struct {
	pc, sp, g uintptr // where the caller of callWalk is; written by it

	mode, status, errno uintptr
	marks               bool // of objects, only the marks that lie beside them
	places              places

	variables, nvariables uintptr // of region

	// The mirror of the heap's address space from lo to hi, of which pages are filled in as they
	// are needed; a bit for each page.
	lo, hi, mirror, bits uintptr

	// Other memory is copied one behind the other.
	others, othersSize  uintptr
	regions, maxRegions uintptr // of region

	// What the walk came to.
	min, max                        uintptr // of all spans
	heapBytes, otherBytes, nregions uintptr
}

// region is memory and where its copy lies.
type region struct{ addr, size, at uintptr }

// callWalk notes where its caller stands, and calls walk.
func callWalk(c uintptr)

//go:linkname memmove runtime.memmove
//go:noescape
func memmove(to, from unsafe.Pointer, n uintptr)

// Only the assembly calls it.
var _ = walk

// pointer is an address that is not in the Go heap, or whose object is reached otherwise.
//
//go:nosplit
//go:norace
//go:nocheckptr
func pointer(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

//go:nosplit
//go:norace
//go:nocheckptr
func word(a uintptr) uintptr { return *(*uintptr)(pointer(a)) }

//go:nosplit
//go:norace
//go:nocheckptr
func word32(a uintptr) uint32 { return *(*uint32)(pointer(a)) }

//go:nosplit
//go:norace
//go:nocheckptr
func word8(a uintptr) uint8 { return *(*uint8)(pointer(a)) }

// walk goes through the process's memory. The caller is pinned: nothing here, and nothing that is
// called here, blocks, allocates, grows the stack or is known to the scheduler (a policy test reads
// these functions).
//
//go:nosplit
//go:norace
//go:nocheckptr
func walk(at uintptr) {
	c := (*control)(pointer(at))
	c.status, c.nregions, c.heapBytes, c.otherBytes, c.min, c.max = whole, 0, 0, 0, ^uintptr(0), 0
	if c.mode == copying && word32(c.places.gcPhase) != 0 {
		c.status = collecting
		return
	}
	c.walkSpans()
	if c.status != whole {
		return
	}
	if !c.marks {
		c.walkStacks()
	}
	for i := uintptr(0); i < c.nvariables; i++ {
		v := (*region)(pointer(c.variables + i*unsafe.Sizeof(region{})))
		c.other(v.addr, v.size)
	}
	all := c.places.heap + c.places.allspans
	c.other(word(all), word(all+8)*8)
	for a := word(c.places.chunks); a != 0; a = word(a) {
		c.other(a, chunkSize)
	}
	c.walkBits(word(c.places.bitsNext))
	c.walkBits(word(c.places.bitsCurrent))
	c.walkBits(word(c.places.bitsPrevious))
}

//go:nosplit
//go:norace
//go:nocheckptr
func (c *control) walkSpans() {
	p := &c.places
	list, n := word(p.heap+p.allspans), word(p.heap+p.allspans+8)
	for i := uintptr(0); i < n; i++ {
		s := word(list + 8*i)
		state := word8(s + p.spanState)
		if state != spanInUse && state != spanManual {
			continue
		}
		base, size := word(s+p.spanStart), word(s+p.spanPages)*pageSize
		if c.mode == measure {
			if base < c.min {
				c.min = base
			}
			if base+size > c.max {
				c.max = base + size
			}
		} else if base < c.lo || base+size > c.hi {
			c.status = noRoom
			return
		}
		switch {
		case c.marks:
			if state == spanInUse && word(s+p.spanElem) <= smallObject {
				c.other(base+size-inlineMarks, inlineMarks)
			}
			continue
		case state == spanManual:
			if size > poolSpan {
				continue // walkStacks takes what is in use
			}
		case word8(s+p.spanClass)&1 != 0 && word(s+p.spanElem) > smallObject:
			if size > largeSpan {
				c.heap(base+size-pageSize, pageSize)
			}
			continue
		}
		c.heap(base, size)
	}
}

// walkStacks takes the used part of each stack.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *control) walkStacks() {
	p := &c.places
	list, n := word(p.allgs), word(p.allgs+8)
	for i := uintptr(0); i < n; i++ {
		g := word(list + 8*i)
		status := word32(g+p.gStatus) &^ scanning
		if status == idle || status == dead || status == extra {
			continue
		}
		lo, hi, sp := word(g+p.stackLo), word(g+p.stackHi), word(g+p.schedSP)
		if sys := word(g + p.syscallSP); sys != 0 {
			sp = sys
		} else if status == running {
			sp = lo
		}
		if g == c.g {
			sp = c.sp
		}
		if sp < lo || sp > hi {
			sp = lo
		}
		switch {
		case c.mode == measure || c.lo <= lo && hi <= c.hi:
			c.heap(sp, hi-sp)
		default:
			c.other(sp, hi-sp) // of a thread of C
		}
	}
}

//go:nosplit
//go:norace
//go:nocheckptr
func (c *control) walkBits(a uintptr) {
	for ; a != 0; a = word(a + c.places.bitsArenaNext) {
		c.other(a, c.places.bitsArenaSize)
	}
}

// heap takes memory of the heap's address space.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *control) heap(base, size uintptr) {
	if size == 0 {
		return
	}
	c.heapBytes += size
	if c.mode == measure {
		return
	}
	for page := (base - c.lo) / pageSize; page <= (base+size-1-c.lo)/pageSize; page++ {
		*(*uint8)(pointer(c.bits + page/8)) |= 1 << (page & 7)
	}
	if c.mode == copying {
		memmove(pointer(c.mirror+(base-c.lo)), pointer(base), size)
	}
}

// other takes other memory.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *control) other(addr, size uintptr) {
	if size == 0 {
		return
	}
	at := c.others + (c.otherBytes+15)&^15
	c.otherBytes = at + size - c.others
	n := c.nregions
	c.nregions++
	if c.mode != copying {
		return
	}
	if n >= c.maxRegions || c.otherBytes > c.othersSize {
		c.status = noRoom
		return
	}
	memmove(pointer(at), pointer(addr), size)
	*(*region)(pointer(c.regions + n*unsafe.Sizeof(region{}))) = region{addr, size, at}
}
