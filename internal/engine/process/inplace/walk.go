//go:build (linux || windows || darwin) && (amd64 || arm64)

package inplace

import (
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// What a walk does with the memory that it finds.
const (
	measure = iota // adds up the sizes
	mark           // notes the pages of the mirror that a copy will need
	copying
)

// How a walk ended.
const (
	whole      = iota
	collecting // a collection was under way
	noRoom     // there was more memory than in the walk before
	refused    // the system refused memory, see errno
)

// Spans up to this size may hold several stacks, and the free ones among these are linked through
// their first words (runtime/stack.go, stackpoolalloc and _StackCacheSize). Larger spans hold one
// stack.
const poolSpan = 32 << 10

// chunkSize is how many bytes the runtime takes for its own records at a time (runtime/malloc.go,
// persistentChunkSize). Each chunk begins with the address of the chunk before it.
const chunkSize = 256 << 10

// control is all data that a walk uses. It lies outside of the Go heap. The assembly takes the
// field offsets from go_asm.h.
type control struct {
	pc, sp, g uintptr // state of callWalk's caller; callWalk writes it

	mode, status, errno uintptr
	marks               bool // of objects, copy only the marks that lie beside them
	places              places

	variables, nvariables uintptr // of region

	// The mirror of the heap's address space from lo to hi, whose pages are filled in as they are
	// needed, and the address of a bitmap with a bit for each page.
	lo, hi, mirror, bits uintptr
	provided             uintptr // address of an array with a byte for each stretch of the mirror: 1 if it is memory already
	// prepare has provided the pages that were needed then. Few are missing: to ask for all of them
	// again takes longer than to provide them did.
	prepared bool

	// Other memory is copied, one piece behind the other, to others.
	others, othersSize  uintptr
	regions, maxRegions uintptr // of region

	copied uintptr // bytes, by all copies to these areas

	// The results of the walk.
	min, max                        uintptr // of all spans
	heapBytes, otherBytes, nregions uintptr
}

// region is a piece of memory and the address of its copy.
type region struct{ addr, size, at uintptr }

// callWalk records the state of its caller, and calls walk.
func callWalk(c uintptr)

//go:linkname memmove runtime.memmove
//go:noescape
func memmove(to, from unsafe.Pointer, n uintptr)

// Only the assembly calls it.
var _ = walk

// pointer converts an address that is not in the Go heap, or whose object is kept alive otherwise.
//
//go:nosplit
//go:norace
//go:nocheckptr
func pointer(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

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
	if c.mode != measure && offheap.Half(c.places.at.Phase) != 0 {
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
		c.takeOutsideHeap(v.addr, v.size)
	}
	all := c.places.at.Heap + c.places.mheap.AllSpans
	c.takeOutsideHeap(offheap.Word(all), offheap.Word(all+8)*8)
	for a := offheap.Word(c.places.tables.Chunks); a != 0; a = offheap.Word(a) {
		c.takeOutsideHeap(a, chunkSize)
	}
	c.walkBits(offheap.Word(c.places.tables.NextBits))
	c.walkBits(offheap.Word(c.places.tables.CurrentBits))
	c.walkBits(offheap.Word(c.places.tables.PreviousBits))
}

// walkSpans takes spans of objects with pointers. Of spans of objects without pointers it takes
// those of small objects, since functions' values, and the marks that the green tea collector keeps
// at the end of a span, are read, too. Of spans that fill an arena or more it takes the end
// (package goruntime, numberObjects).
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *control) walkSpans() {
	p := &c.places
	list, n := offheap.Word(p.at.Heap+p.mheap.AllSpans), offheap.Word(p.at.Heap+p.mheap.AllSpans+8)
	for i := uintptr(0); i < n; i++ {
		s := offheap.Word(list + 8*i)
		state := offheap.Byte(s + p.mspan.State)
		if state != rtlayout.SpanInUse && state != rtlayout.SpanManual {
			continue
		}
		base, size := offheap.Word(s+p.mspan.StartAddr), offheap.Word(s+p.mspan.Pages)*rtlayout.PageSize
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
			if state == rtlayout.SpanInUse && offheap.Word(s+p.mspan.ElemSize) <= rtlayout.MaxHeapBits {
				c.takeOutsideHeap(base+size-rtlayout.InlineMarkBits, rtlayout.InlineMarkBits)
			}
			continue
		case state == rtlayout.SpanManual:
			if size > poolSpan {
				continue // walkStacks takes what is in use
			}
		case offheap.Byte(s+p.mspan.Class)&1 != 0 && offheap.Word(s+p.mspan.ElemSize) > rtlayout.MaxHeapBits:
			if size > rtlayout.ArenaSize {
				c.heap(base+size-rtlayout.PageSize, rtlayout.PageSize)
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
	list, n := offheap.Word(p.at.AllGs), offheap.Word(p.at.AllGs+8)
	for i := uintptr(0); i < n; i++ {
		g := offheap.Word(list + 8*i)
		status := offheap.Half(g+p.g.Status) &^ rtlayout.Scanning
		if status == rtlayout.Idle || status == rtlayout.Dead || status == rtlayout.DeadExtra {
			continue
		}
		lo, hi, sp := offheap.Word(g+p.g.StackLo), offheap.Word(g+p.g.StackHi), offheap.Word(g+p.g.SP)
		if sys := offheap.Word(g + p.g.SyscallSP); sys != 0 {
			sp = sys
		} else if status == rtlayout.Running {
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
			c.takeOutsideHeap(sp, hi-sp) // a stack of a thread of C
		}
	}
}

//go:nosplit
//go:norace
//go:nocheckptr
func (c *control) walkBits(a uintptr) {
	for ; a != 0; a = offheap.Word(a + c.places.tables.Next) {
		c.takeOutsideHeap(a, c.places.tables.Size)
	}
}

// heap takes memory in the heap's address space.
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
	for page := (base - c.lo) / rtlayout.PageSize; page <= (base+size-1-c.lo)/rtlayout.PageSize; page++ {
		*(*uint8)(pointer(c.bits + page/8)) |= 1 << (page & 7)
	}
	if c.mode == copying {
		memmove(pointer(c.mirror+(base-c.lo)), pointer(base), size)
	}
}

// takeOutsideHeap takes memory outside of the heap's address space.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (c *control) takeOutsideHeap(addr, size uintptr) {
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
