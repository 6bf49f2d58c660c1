package rtlayout

// Structs for Fill have uintptr fields where a package reads this process in place, else uint64.

// Heap is of the one heap (runtime/mheap.go). A slice is its address, and then its length.
type Heap struct {
	_        struct{} `of:"runtime.mheap"`
	AllSpans uintptr  `is:"allspans"`   // a slice of addresses
	Sweepgen uintptr  `is:"sweepgen,4"` // 2 more with each collection
	Arenas   uintptr  `is:"arenas"`
}

// Arena is of the record of an arena (runtime/mheap.go).
type Arena struct {
	_     struct{} `of:"runtime.heapArena"`
	Spans uintptr  `is:"spans"` // an array of addresses, by page
}

// Span is of spans (runtime/mheap.go).
type Span struct {
	_         struct{} `of:"runtime.mspan"`
	Size      uintptr
	StartAddr uintptr `is:"startAddr"`
	Pages     uintptr `is:"npages"`
	Elems     uintptr `is:"nelems,2"`
	ElemSize  uintptr `is:"elemsize"`
	Limit     uintptr `is:"limit"`
	FreeIndex uintptr `is:"freeindex,2"`
	ScanIndex uintptr `is:"freeIndexForScan,2"`
	AllocBits uintptr `is:"allocBits"` // an address
	MarkBits  uintptr `is:"gcmarkBits"`
	Sweepgen  uintptr `is:"sweepgen,4"`  // that of the heap if the span is swept, or 3 more in a processor's cache
	Class     uintptr `is:"spanclass,1"` // the size class twice, plus one without pointers
	State     uintptr `is:"state,1"`     // SpanInUse and others
	UserArena uintptr `is:"isUserArenaChunk,1"`
	Specials  uintptr `is:"specials"`
	LargeType uintptr `is:"largeType"`
	DivMul    uintptr `is:"divMul,4"`
	Next      uintptr `is:"next"`
	Allocated uintptr `is:"allocCount,2"`
}

// Tables is of memory outside of the heap: of arenas of mark bits, and of the runtime's own records
// (runtime/mheap.go, malloc.go).
type Tables struct {
	_            struct{} `of:"runtime.gcBitsArena"`
	Size         uintptr
	Next         uintptr  `is:"next"`
	_            struct{} `at:"runtime.gcBitsArenas"`
	NextBits     uintptr  `is:"next"`
	CurrentBits  uintptr  `is:"current"`
	PreviousBits uintptr  `is:"previous"`
	_            struct{} `at:""`
	Chunks       uintptr  `is:"runtime.persistentChunks"`
}

// Special is of what the runtime notes down of an object, by kind (runtime/mheap.go).
type Special struct {
	_       struct{} `of:"runtime.special"`
	Next    uint64   `is:"next"`
	Offset  uint64   `is:"offset"`
	Kind    uint64   `is:"kind,1"`
	_       struct{} `of:"runtime.specialfinalizer"`
	Fn      uint64   `is:"fn"`
	Type    uint64   `is:"ot"`
	_       struct{} `of:"runtime.specialCleanup"`
	Cleanup uint64   `is:"cleanup"`
	_       struct{} `of:"runtime.specialWeakHandle"`
	Handle  uint64   `is:"handle"`
	_       struct{} `of:"runtime.specialprofile"`
	Bucket  uint64   `is:"b"`
}

// Finalizers is of finalizers that wait, and of their blocks (runtime/mfinal.go).
type Finalizers struct {
	_         struct{} `of:"runtime.finBlock"`
	BlockSize uint64   `is:""`
	Next      uint64   `is:"alllink"`
	Count     uint64   `is:"cnt,4"`
	Records   uint64   `is:"fin"`
	_         struct{} `of:"runtime.finalizer"`
	Size      uint64
	Fn        uint64   `is:"fn"`
	Arg       uint64   `is:"arg"`
	Type      uint64   `is:"ot"`
	_         struct{} `at:""`
	First     uint64   `is:"runtime.allfin"`
}

// Cleanups is of cleanups, and of the blocks of those that wait (runtime/mcleanup.go).
type Cleanups struct {
	_         struct{} `of:"runtime.cleanupBlock"`
	BlockSize uint64   `is:""`
	Next      uint64   `is:"cleanupBlockHeader.alllink"`
	Count     uint64   `is:"cleanupBlockHeader.n,4"`
	Records   uint64   `is:"cleanups"`
	_         struct{} `of:"runtime.cleanupFn"`
	Size      uint64
	Call      uint64   `is:"call"`
	Fn        uint64   `is:"fn"`
	Arg       uint64   `is:"arg"`
	_         struct{} `at:"runtime.gcCleanups"`
	First     uint64   `is:"all"`
}

// Bucket is of the memory profiler's records, each of a stack that is behind it (runtime/mprof.go).
type Bucket struct {
	_      struct{} `of:"runtime.bucket"`
	Size   uint64
	Next   uint64 `is:"allnext"`
	Depth  uint64 `is:"nstk"`
	Object uint64 `is:"size"`
}

// Record is of the counts of a bucket, which are behind its stack (runtime/mprof.go).
type Record struct {
	_         struct{} `of:"runtime.memRecord"`
	Future    uint64   `is:"future"` // an array, by phase
	_         struct{} `of:"runtime.memRecordCycle"`
	Phase     uint64   `is:""`
	Allocated uint64   `is:"allocs"`
	Freed     uint64   `is:"frees"`
	_         struct{} `at:""`
	First     uint64   `is:"runtime.mbuckets"`
	Cycle     uint64   `is:"runtime.mProfCycle,4"` // twice the number, and whether it is published
	Rate      uint64   `is:"runtime.MemProfileRate"`
	_         struct{} `at:"runtime.sweep"`
	Sweep     uint64   `is:"active.state,4"`
}

// Counters has the addresses of the collector's counters (runtime/mgc.go, mgcpacer.go, mstats.go).
type Counters struct {
	_        struct{} `at:"runtime.memstats"`
	Number   uint64   `is:"numgc,4"` // of collections that have ended
	_        struct{} `at:"runtime.gcController"`
	Marked   uint64   `is:"heapMarked"` // bytes that the last collection found alive
	_        struct{} `at:"runtime.mheap_"`
	Sweepgen uint64   `is:"sweepgen,4"` // 2 more with each collection
	_        struct{} `at:"runtime.work"`
	Begun    uint64   `is:"cycles,4"`    // number of collections that have begun
	Starting uint64   `is:"startSema,4"` // 0 while a collection is about to begin
	Before   uint64   `is:"heap0"`       // the heap when marking began
	After    uint64   `is:"heap1"`       // and when it ended
}

// Mapped has the addresses of how many bytes the runtime has mapped: Ready plus Released is what
// runtime/metrics calls /memory/classes/total:bytes (runtime/mgcpacer.go, gcControllerState;
// mstats.go, readmemstats_m).
type Mapped struct {
	_        struct{} `at:"runtime.gcController"`
	Ready    uint64   `is:"mappedReady"`
	Released uint64   `is:"heapReleased"` // of the heap, given back to the system and still mapped
}
