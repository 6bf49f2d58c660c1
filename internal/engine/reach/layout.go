// Package reach counts what package variables of this very process lead to, in place and up to a
// limit, by the masks that the garbage collector goes by.
package reach

import (
	"errors"
	"runtime"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
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

// The fields that a walk looks at.
const (
	heapArenas = iota
	arenaSpans
	processorSlices
	spanStart
	spanPages
	spanElem
	spanLimit
	spanClass
	spanState
	spanUserArena
	mapUsed
	mapDir
	moduleData
	moduleEnd
	moduleBSS
	moduleBSSEnd
	moduleDataMask
	moduleBSSMask
	moduleNext
	maskBytes
	numFields
)

// fields are their types and names, in that order.
const fields = `
	runtime.mheap      arenas
	runtime.heapArena  spans
	runtime.p          schedtick
	runtime.mspan      startAddr
	runtime.mspan      npages
	runtime.mspan      elemsize
	runtime.mspan      limit
	runtime.mspan      spanclass
	runtime.mspan      state
	runtime.mspan      isUserArenaChunk
	internal/runtime/maps.Map  used
	internal/runtime/maps.Map  dirPtr
	runtime.moduledata data
	runtime.moduledata edata
	runtime.moduledata bss
	runtime.moduledata ebss
	runtime.moduledata gcdatamask
	runtime.moduledata gcbssmask
	runtime.moduledata next
	runtime.bitvector  bytedata
`

// mapType is the header of a map. A program without maps has none.
const mapType = "internal/runtime/maps.Map"

// Layout is where the runtime of this process has what a walk looks at.
type Layout struct {
	segments []segment
	globals  []debuginfo.Global // by address
	bias     uint64
	arenas   uintptr // address of the pointer to the only level of arenas
	allp     uintptr // address of the list of processors
	greenTea bool
	mapSize  uintptr // 0: there are no maps
	at       [numFields]uintptr
}

// A segment is memory of variables that hold pointers.
type segment struct{ lo, hi, mask uintptr }

// Load finds out where things are. bias is what addresses of the debug information are to be moved
// by. Programs of several modules, such as those with plugins, are refused: only the first module's
// variables have names.
func Load(x *debuginfo.Index, bias uint64) (*Layout, error) {
	l := &Layout{globals: x.Globals(), bias: bias}
	_, l.greenTea = x.TypeByName("runtime.spanInlineMarkBits")
	names := strings.Fields(fields)
	for i := range l.at {
		typ, name := names[2*i], names[2*i+1]
		id, ok := x.TypeByName(typ)
		if !ok && typ == mapType {
			continue
		}
		t := x.Type(id)
		k := slices.IndexFunc(t.Fields, func(field debuginfo.Field) bool { return field.Name == name })
		if k < 0 {
			return nil, errors.New(typ + "." + name + " is not in the debug information")
		}
		l.at[i] = uintptr(t.Fields[k].Offset)
		if i == mapDir {
			l.mapSize = uintptr(t.Size)
		}
	}
	var first uintptr
	for _, v := range [...]struct {
		name string
		to   *uintptr
	}{{"runtime.mheap_", &l.arenas}, {"runtime.allp", &l.allp}, {"runtime.firstmoduledata", &first}} {
		g, ok := x.GlobalByName(v.name)
		if !ok {
			return nil, errors.New(v.name + " is not in the debug information")
		}
		*v.to = uintptr(g.Addr + bias)
	}
	l.arenas += l.at[heapArenas]
	if word(first+l.at[moduleNext]) != 0 {
		return nil, errors.New("the program has several modules")
	}
	for _, s := range [...][3]uintptr{{moduleData, moduleEnd, moduleDataMask}, {moduleBSS, moduleBSSEnd, moduleBSSMask}} {
		l.segments = append(l.segments, segment{word(first + l.at[s[0]]), word(first + l.at[s[1]]), word(first + l.at[s[2]] + l.at[maskBytes])})
	}
	return l, nil
}

// arenaBase is what the runtime subtracts from an address before it looks for its arena
// (runtime/malloc.go, arenaBaseOffset): 0xffff800000000000 on amd64.
func arenaBase() uintptr {
	if runtime.GOARCH == "amd64" {
		return ^uintptr(1<<(addressBit-1)) + 1
	}
	return 0
}
