package rtlayout

// Map is of the header of a map (internal/runtime/maps/map.go). A program without maps has none.
type Map struct {
	_         struct{} `of:"internal/runtime/maps.Map"`
	Size      uintptr
	Used      uintptr `is:"used"`
	Directory uintptr `is:"dirPtr"`
	Length    uintptr `is:"dirLen"`
	Depth     uintptr `is:"globalDepth,1"`
	Shift     uintptr `is:"globalShift,1"`
}

// MapTable is of the tables of maps (internal/runtime/maps/table.go).
type MapTable struct {
	_        struct{} `of:"internal/runtime/maps.table"`
	Size     uintptr
	Used     uintptr `is:"used,2"`
	Capacity uintptr `is:"capacity,2"`
	Index    uintptr `is:"index"`
	Groups   uintptr `is:"groups.data"`
	Mask     uintptr `is:"groups.lengthMask"`
}

// Descriptor is of the descriptors of types (internal/abi/type.go).
type Descriptor struct {
	_    struct{} `of:"internal/abi.Type"`
	Hash uintptr  `is:"Hash,4"`
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
	DataMaskLen  uintptr `is:"gcdatamask.n,4"`
	DataMask     uintptr `is:"gcdatamask.bytedata"`
	BSSMaskLen   uintptr `is:"gcbssmask.n,4"`
	BSSMask      uintptr `is:"gcbssmask.bytedata"`
	Next         uintptr `is:"next"`
}

// Variables has the addresses of the runtime's variables.
type Variables struct {
	_       struct{} `at:""`
	Heap    uintptr  `is:"runtime.mheap_"`
	AllGs   uintptr  `is:"runtime.allgs"`
	FirstG  uintptr  `is:"runtime.allgptr"` // the same list, in an order that readers can rely on
	LenGs   uintptr  `is:"runtime.allglen"`
	AllPs   uintptr  `is:"runtime.allp"`
	AllMs   uintptr  `is:"runtime.allm"` // the first Thread
	Modules uintptr  `is:"runtime.firstmoduledata"`
	Phase   uintptr  `is:"runtime.gcphase,4"` // 0 unless the collector marks
	_       struct{} `at:"runtime.sched"`
	Waiting uintptr  `is:"gcwaiting,1"` // the world is to stop
}
