package nativeheap

// Layouts of glibc's structs, from malloc/malloc.c, malloc/arena.c and nptl/descr.h of 2.26 to
// 2.43, on 64-bit systems. A version with another layout fails the audit.
const (
	// offsets in struct malloc_state, counted from its bins on
	topBefore   = 16             // how far before the bins the top is
	bins        = 127            // pairs of fd and bk; a bin is a chunk whose fd and bk these are
	stateNext   = 16*bins + 16   // behind binmap
	stateSystem = stateNext + 24 // system_mem, behind next_free and attached_threads
	stateEnd    = stateSystem + 16
	// and offsets counted from its start on
	stateMutex = 0
	stateFast  = 16 // fastbinsY
	fastBins   = 10

	binAsChunk      = 16 // how far before its pair a bin begins
	chunkSize       = 8  // struct malloc_chunk: prev_size, size, fd, bk
	chunkNext       = 16
	chunkPrev       = 24
	chunkHeader     = 16 // user memory begins behind it
	minChunk        = 32
	chunkAlign      = 16
	fence           = 16 // size of the chunk that ends a part of an arena that others follow
	heapMax         = HeapMultiple
	prevInUse       = 1 // flags in a chunk's size
	isMapped        = 2
	isNotMain       = 4
	sizeFlags       = 7
	protectionShift = 12 // PROTECT_PTR, from 2.32 on: a pointer xor its own address without the offset in a page

	// offsets in struct malloc_par, counted from 40 bytes before sbrk_base
	mapBytes     = 24 // mmapped_mem
	mapBytesMost = 32 // max_mmapped_mem
	heapStart    = 40 // sbrk_base
	cacheBins    = 48 // tcache_bins
	cacheBytes   = 56 // tcache_max_bytes
	cacheCount   = 64 // tcache_count
	paramsSize   = 72
	// n_mmaps_max follows n_mmaps; programs rarely change it
	mapMost = 1 << 16 // DEFAULT_MMAP_MAX
)

// heads are the offsets of the bins in struct malloc_state: behind the fast bins, and from 2.43 on,
// which has no fast bins, right behind the mutex, flags, top and last_remainder.
var heads = [...]uint64{withFast, 24}

const withFast = 112

// mapCounts are the offsets of n_mmaps in struct malloc_par: from 2.35 on hp_flags is before it.
var mapCounts = [...]uint64{4, 8}

// A cacheLayout is the layout of a thread's cache of freed blocks (tcache_perthread_struct) in some
// versions. The size of its chunk identifies it.
type cacheLayout struct {
	chunk       int64
	small       int // bins of one size each: 32, 48, 64, ...
	bins        int // those, and the bins of larger blocks
	countSize   uint64
	countsSlots bool // the counts are of free slots, not of blocks
}

var cacheLayouts = [...]cacheLayout{
	{chunk: 0x250, small: 64, bins: 64, countSize: 1},                    // 2.26 to 2.29
	{chunk: 0x290, small: 64, bins: 64, countSize: 2},                    // 2.30 to 2.41
	{chunk: 0x300, small: 64, bins: 76, countSize: 2, countsSlots: true}, // 2.42 and 2.43
}

// A threadLayout is the layout of struct pthread on an architecture: offsets of its fields.
type threadLayout struct {
	list uint64 // the node of the thread on a list of threads
	id   uint64 // the kernel's thread ID, 0 when the thread has ended
	self uint64 // a word that points to the start of the struct
	dtv  uint64
	// thread-local variables are below the struct, else above
	below, hasSelf, hasDTV bool
}

var threadLayouts = map[string]threadLayout{
	"amd64": {list: 0x2c0, id: 0x2d0, self: 0x10, dtv: 8, below: true, hasSelf: true, hasDTV: true},
	// the dtv is in tcbhead_t, behind a struct whose size depends on the version
	"arm64": {list: 0xc0, id: 0xd0},
}
