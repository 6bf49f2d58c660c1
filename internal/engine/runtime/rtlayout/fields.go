package rtlayout

import "reflect"

// The structs below have the offsets of the fields of the runtime's structures, in bytes. The tag
// "of" names the structure, and "is" the field, or the fields on the way to it; Size is the size of
// the structure. Fill looks all of them up.

// Heap is of the one heap (runtime/mheap.go). A slice is its address, and then its length.
type Heap struct {
	_        struct{} `of:"runtime.mheap"`
	AllSpans uintptr  `is:"allspans"` // a slice of addresses
	Sweepgen uintptr  `is:"sweepgen"` // 4 bytes: 2 more with each collection
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
	Elems     uintptr `is:"nelems"` // 2 bytes
	ElemSize  uintptr `is:"elemsize"`
	Limit     uintptr `is:"limit"`
	FreeIndex uintptr `is:"freeindex"` // 2 bytes
	AllocBits uintptr `is:"allocBits"` // an address
	MarkBits  uintptr `is:"gcmarkBits"`
	Sweepgen  uintptr `is:"sweepgen"`  // 4 bytes: that of the heap if the span is swept, or 3 more in a processor's cache
	Class     uintptr `is:"spanclass"` // a byte: the size class twice, plus one without pointers
	State     uintptr `is:"state"`     // a byte: SpanInUse and others
	UserArena uintptr `is:"isUserArenaChunk"`
	Specials  uintptr `is:"specials"`
	LargeType uintptr `is:"largeType"`
	DivMul    uintptr `is:"divMul"`
}

// Goroutine is of goroutines (runtime/runtime2.go).
type Goroutine struct {
	_         struct{} `of:"runtime.g"`
	ID        uintptr  `is:"goid"`
	Status    uintptr  `is:"atomicstatus"` // 4 bytes: Idle and others, Scanning
	StackLo   uintptr  `is:"stack.lo"`
	StackHi   uintptr  `is:"stack.hi"`
	StackTop  uintptr  `is:"stktopsp"` // where a complete walk of the stack ends
	SP        uintptr  `is:"sched.sp"`
	PC        uintptr  `is:"sched.pc"`
	LR        uintptr  `is:"sched.lr"`
	Context   uintptr  `is:"sched.ctxt"`
	SyscallSP uintptr  `is:"syscallsp"` // 0 outside of a system call
	SyscallPC uintptr  `is:"syscallpc"`
	Async     uintptr  `is:"asyncSafePoint"` // a byte: stopped between safe points
	Defers    uintptr  `is:"_defer"`
	Panics    uintptr  `is:"_panic"`
	GoPC      uintptr  `is:"gopc"`
	StartPC   uintptr  `is:"startpc"`
}

// Processor is of processors (runtime/runtime2.go).
type Processor struct {
	_      struct{} `of:"runtime.p"`
	Slices uintptr  `is:"schedtick"` // 4 bytes: time slices that it has given out
	Timers uintptr  `is:"timers.heap"`
	Sudogs uintptr  `is:"sudogcache"`
	Defers uintptr  `is:"deferpool"`
}

// Timer is of timers (runtime/time.go).
type Timer struct {
	_      struct{} `of:"runtime.timer"`
	State  uintptr  `is:"state"`  // a byte: TimerZombie
	When   uintptr  `is:"when"`   // by the clock of runtime.nanotime
	Period uintptr  `is:"period"` // 0 if it does not repeat
}

// Channel is of channels (runtime/chan.go).
type Channel struct {
	_        struct{} `of:"runtime.hchan"`
	Size     uintptr
	Used     uintptr `is:"qcount"`
	Room     uintptr `is:"dataqsiz"`
	ElemSize uintptr `is:"elemsize"` // 2 bytes
	Buffer   uintptr `is:"buf"`
}

// MapType is the header of a map.
const MapType = "internal/runtime/maps.Map"

// Map is of the header of a map (internal/runtime/maps/map.go). A program without maps has none.
type Map struct {
	_         struct{} `of:"internal/runtime/maps.Map"`
	Size      uintptr
	Used      uintptr `is:"used"`
	Directory uintptr `is:"dirPtr"`
	Length    uintptr `is:"dirLen"`
	Depth     uintptr `is:"globalDepth"` // a byte
	Shift     uintptr `is:"globalShift"` // a byte
}

// MapTable is of the tables of maps (internal/runtime/maps/table.go).
type MapTable struct {
	_        struct{} `of:"internal/runtime/maps.table"`
	Size     uintptr
	Used     uintptr `is:"used"`     // 2 bytes
	Capacity uintptr `is:"capacity"` // 2 bytes
}

// Descriptor is of the descriptors of types (internal/abi/type.go).
type Descriptor struct {
	_    struct{} `of:"internal/abi.Type"`
	Hash uintptr  `is:"Hash"` // 4 bytes
}

// Module is of modules (runtime/symtab.go).
type Module struct {
	_            struct{} `of:"runtime.moduledata"`
	Size         uintptr
	FuncNames    uintptr `is:"funcnametab"` // these six are slices
	Units        uintptr `is:"cutab"`
	Files        uintptr `is:"filetab"`
	PCs          uintptr `is:"pctab"`
	Lines        uintptr `is:"pclntable"`
	Funcs        uintptr `is:"ftab"`
	MinPC        uintptr `is:"minpc"`
	MaxPC        uintptr `is:"maxpc"`
	Text         uintptr `is:"text"`
	TextEnd      uintptr `is:"etext"`
	NoPtrData    uintptr `is:"noptrdata"`
	NoPtrDataEnd uintptr `is:"enoptrdata"`
	Data         uintptr `is:"data"`
	DataEnd      uintptr `is:"edata"`
	BSS          uintptr `is:"bss"`
	BSSEnd       uintptr `is:"ebss"`
	NoPtrBSS     uintptr `is:"noptrbss"`
	NoPtrBSSEnd  uintptr `is:"enoptrbss"`
	Types        uintptr `is:"types"`
	TypesEnd     uintptr `is:"etypes"`
	ROData       uintptr `is:"rodata"`
	GoFunc       uintptr `is:"gofunc"`
	LinesEnd     uintptr `is:"epclntab"`
	DataMaskLen  uintptr `is:"gcdatamask.n"` // 4 bytes
	DataMask     uintptr `is:"gcdatamask.bytedata"`
	BSSMaskLen   uintptr `is:"gcbssmask.n"` // 4 bytes
	BSSMask      uintptr `is:"gcbssmask.bytedata"`
	Next         uintptr `is:"next"`
}

// Variables has the addresses of the runtime's variables.
type Variables struct {
	_       struct{} `of:""`
	Heap    uintptr  `is:"runtime.mheap_"`
	AllGs   uintptr  `is:"runtime.allgs"`
	AllPs   uintptr  `is:"runtime.allp"`
	Modules uintptr  `is:"runtime.firstmoduledata"`
}

// Fill looks up all fields of pointers to the structs above. The first one that is missing is the
// error of the lookup.
func (l *Lookup) Fill(structs ...any) {
	for _, s := range structs {
		to := reflect.ValueOf(s).Elem()
		first := to.Type().Field(0)
		of := first.Tag.Get("of")
		for i := 1; i < to.NumField(); i++ {
			to.Field(i).SetUint(l.find(of, to.Type().Field(i).Tag.Get("is")))
		}
	}
}

// find returns the offset of a field, the size of a structure, or the address of a variable.
func (l *Lookup) find(of, name string) uint64 {
	switch {
	case of == "":
		return l.Variable(name).Addr
	case name == "":
		return l.Size(of)
	default:
		return l.Offset(of, name)
	}
}
