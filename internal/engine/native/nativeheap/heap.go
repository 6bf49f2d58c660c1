// Package nativeheap reads the heap of glibc's malloc out of the memory of a process: how many
// blocks C code has allocated and not freed, of which sizes. It needs neither symbols nor debug
// information, and returns nothing that malloc's own records do not confirm.
package nativeheap

import (
	"errors"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

// A Heap sums up the blocks that malloc had given out at one moment. Sizes are those of malloc's
// chunks: the requested size and 8 bytes, rounded up to a multiple of 16, 32 at least.
type Heap struct {
	Blocks, Bytes int64 // in use by the program and its libraries, mapped ones included

	// Of those, blocks that are a mapping each (128 KiB and more, as a rule). malloc knows how many
	// there are and how large they are together, not how large each is.
	Mapped, MappedBytes int64

	Sizes map[int64]int64 // how many blocks of each size are in use, without mapped ones

	// Threads includes those that have ended and whose stacks are kept for others.
	Threads int

	// Freed blocks in the caches of threads (tcache) and of arenas (fast bins).
	Cached, CachedBytes, Fast, FastBytes int64
	// What malloc and the loader allocate for each thread itself: its tcache, its table of
	// thread-local variables (dtv).
	Own, OwnBytes int64
	// Headers of arenas and of their parts.
	HeaderBytes int64
}

// InUse is the field uordblks of mallinfo2(3): all memory of arenas, except chunks on bins and fast
// bins, and the top.
func (h *Heap) InUse() int64 {
	return h.Bytes - h.MappedBytes + h.CachedBytes + h.OwnBytes + h.HeaderBytes
}

// SizesUp returns the sizes that there are blocks of, the smallest first.
func (h *Heap) SizesUp() []int64 {
	sizes := make([]int64, 0, len(h.Sizes))
	for size := range h.Sizes {
		sizes = append(sizes, size)
	}
	sort.Slice(sizes, func(i, j int) bool { return sizes[i] < sizes[j] })
	return sizes
}

// An Area is a mapping of the process (proc(5), maps).
type Area struct {
	Start, End uint64
	Writable   bool // private memory that may be read and written to
	Name       string
}

// ErrNone says that the process has no C library, and so no heap but Go's.
var ErrNone = errors.New("the process has no C library")

// ErrFlux says that malloc's records do not agree with the chunks in its heap: the heap was being
// changed, or this package does not know its layout.
var ErrFlux = errors.New("the books of malloc do not agree with its heap")

// An UnknownError is a C library, or malloc, whose heap cannot be read.
type UnknownError struct{ Cause, Remedy string }

// Error is the cause.
func (e *UnknownError) Error() string { return e.Cause }

// A walk is one reading of a heap.
type walk struct {
	mem     *image.Space
	areas   []Area
	places  *Places
	arenas  []*arena
	parts   []*part // of all arenas, by address
	threads []uint64
	seen    []image.Range // what must not have changed while memory was copied
	heap    Heap
	blocks  []Block // in use; nil until they are listed
}

// read reads the heap. areas are the process's mappings, and live is how many threads it has at
// least. places are those that an earlier call found in the same process; if they are empty, read
// finds them. Errors are ErrNone, an *UnknownError, or one that wraps ErrFlux.
//
// read visits all chunks of each part of an arena. It returns the counts only if
//
//   - each chunk's size leads to the next, and the last one to the end,
//   - free chunks are exactly those on the arena's bins, linked in both directions,
//   - the sizes of an arena's parts add up to the bytes that it says it has from the system,
//   - tcaches and fast bins hold only used chunks of the right sizes, none twice, and as many as
//     they count,
//   - each living thread is on the loader's lists of threads,
//   - no arena was locked.
func read(mem *image.Space, areas []Area, live int, places *Places) (*walk, error) {
	w := &walk{mem: mem, areas: areas, places: places}
	w.heap.Sizes = make(map[int64]int64)
	for _, step := range []func() error{w.locate, w.loadArenas, w.walkParts, w.auditArenas, func() error { return w.readThreads(live) }, w.takeOwn} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	w.count()
	if err := mem.Broken(); err != nil {
		return nil, err
	}
	return w, nil
}

// word reads 8 bytes, zero where there is no memory.
func (w *walk) word(addr uint64) uint64 { return w.mem.U64(addr) }

const smallSizes = 256

// count sums up the chunks that are not on bins by state. It also counts the chunks in use by size.
func (w *walk) count() {
	h := &w.heap
	var small [smallSizes]int64 // a map takes longer than all the rest
	for _, p := range w.parts {
		p.eachUsed(func(_ uint64, size int64, state chunkState) {
			switch state {
			case inUse:
				h.Blocks++
				h.Bytes += size
				if i := size / chunkAlign; i < smallSizes {
					small[i]++
				} else {
					h.Sizes[size]++
				}
			case ofMalloc:
				h.Own++
				h.OwnBytes += size
			case cached:
				h.Cached++
				h.CachedBytes += size
			case fast:
				h.Fast++
				h.FastBytes += size
			}
		})
		h.HeaderBytes += p.headers
	}
	for i, n := range small {
		if n > 0 {
			h.Sizes[int64(i)*chunkAlign] = n
		}
	}
	h.Threads = len(w.threads)
	h.Mapped, h.MappedBytes = int64(w.mem.U32(w.places.maps)), int64(w.word(w.places.params+mapBytes))
	h.Blocks += h.Mapped
	h.Bytes += h.MappedBytes
}
