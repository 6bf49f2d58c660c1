// Package reach counts what package variables of this very process lead to, in place and up to a
// limit, by the masks that the garbage collector goes by.
package reach

import (
	"fmt"
	"runtime"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
)

// Facts of the runtime that no debug information has (go1.26 and go1.27).
const (
	pageShift  = 13 // runtime/internal/sys: pages of the heap
	arenaShift = 26 // runtime/malloc.go, heapArenaBytes on linux
	arenaPages = 1 << (arenaShift - pageShift)
	addressBit = 48 // runtime/malloc.go, heapAddrBits: one level of arenas

	spanInUse  = 1 // runtime/mheap.go, mSpanState
	spanManual = 2 // of stacks, and the runtime's own

	// Objects up to this size keep their pointer bits at the end of their span (internal/runtime/gc,
	// MinSizeForMallocHeader), larger ones a type in front, but for those that have a span to
	// themselves.
	maxBits    = 512
	headerSize = 8
	// runtime/mgcmark_greenteagc.go, spanInlineMarkBits: behind the pointer bits of spans of objects
	// from 16 bytes on
	inlineMarks   = 128
	tinySpanClass = 5 // runtime/mcache.go
)

// Layout is where the runtime of this process has what a walk looks at.
type Layout struct {
	segments []segment
	globals  []debuginfo.Global // by address
	bias     uint64
	arenas   uintptr // address of the pointer to the only level of arenas
	allp     uintptr // address of the list of processors
	greenTea bool

	spans, tick                       uintptr // in runtime.heapArena and runtime.p
	start, pages, nelems, elem, limit uintptr // in runtime.mspan
	class, state, userArena           uintptr
	mapSize, mapUsed                  uintptr // in internal/runtime/maps.Map
	mapMask                           uint64
}

// A segment is memory of variables that hold pointers.
type segment struct{ lo, hi, mask uintptr }

// Load finds out where things are. bias is what addresses of the debug information are to be moved
// by. Programs of several modules, such as those with plugins, are refused: only the first module's
// variables have names.
func Load(x *debuginfo.Index, bias uint64) (*Layout, error) {
	f := finder{x: x, bias: bias}
	l := &Layout{globals: x.Globals(), bias: bias}
	_, l.greenTea = x.TypeByName("runtime.spanInlineMarkBits")
	l.arenas = f.variable("runtime.mheap_") + f.field("runtime.mheap", "arenas")
	l.allp = f.variable("runtime.allp")
	l.spans = f.field("runtime.heapArena", "spans")
	l.tick = f.field("runtime.p", "schedtick")
	const span = "runtime.mspan"
	l.start, l.pages, l.nelems = f.field(span, "startAddr"), f.field(span, "npages"), f.field(span, "nelems")
	l.elem, l.limit, l.class = f.field(span, "elemsize"), f.field(span, "limit"), f.field(span, "spanclass")
	l.state, l.userArena = f.field(span, "state"), f.field(span, "isUserArenaChunk")
	const table = "internal/runtime/maps.Map"
	if _, ok := x.TypeByName(table); ok { // else the program has no map
		l.mapSize, l.mapUsed = f.size(table), f.field(table, "used")
		l.mapMask = 1 << (f.field(table, "dirPtr") / 8)
	}
	const module = "runtime.moduledata"
	first := f.variable("runtime.firstmoduledata")
	data, bss := f.field(module, "data"), f.field(module, "bss")
	edata, ebss := f.field(module, "edata"), f.field(module, "ebss")
	dataMask, bssMask := f.field(module, "gcdatamask"), f.field(module, "gcbssmask")
	next, bytes := f.field(module, "next"), f.field("runtime.bitvector", "bytedata")
	switch {
	case f.err != nil:
		return nil, f.err
	case word(first+next) != 0:
		return nil, fmt.Errorf("the program has several modules")
	}
	l.segments = []segment{
		{word(first + data), word(first + edata), word(first + dataMask + bytes)},
		{word(first + bss), word(first + ebss), word(first + bssMask + bytes)},
	}
	return l, nil
}

// finder looks things up by name; the first that is missing is its error.
type finder struct {
	x    *debuginfo.Index
	bias uint64
	last debuginfo.Type
	err  error
}

func (f *finder) variable(name string) uintptr {
	g, ok := f.x.GlobalByName(name)
	if !ok {
		f.fail(name)
	}
	return uintptr(g.Addr + f.bias)
}

func (f *finder) structType(name string) *debuginfo.Type {
	if f.last.Name != name {
		id, ok := f.x.TypeByName(name)
		if !ok {
			f.fail(name)
			return &debuginfo.Type{}
		}
		f.last = f.x.Type(id)
	}
	return &f.last
}

func (f *finder) size(typ string) uintptr { return uintptr(f.structType(typ).Size) }

func (f *finder) field(typ, name string) uintptr {
	for _, field := range f.structType(typ).Fields {
		if field.Name == name {
			return uintptr(field.Offset)
		}
	}
	f.fail(typ + "." + name)
	return 0
}

func (f *finder) fail(name string) {
	if f.err == nil {
		f.err = fmt.Errorf("%s is not in the debug information", name)
	}
}

// arenaBase is what the runtime subtracts from an address before it looks for its arena
// (runtime/malloc.go, arenaBaseOffset): 0xffff800000000000 on amd64.
func arenaBase() uintptr {
	if runtime.GOARCH == "amd64" {
		return ^uintptr(1<<(addressBit-1)) + 1
	}
	return 0
}
