// Package reach counts the objects that package variables of this very process lead to. It reads
// the memory in place and up to a limit, and finds pointers by the masks that the garbage collector
// uses.
package reach

import (
	"errors"
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/memory/rawmem"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Facts of the runtime that no debug information has (go1.26 and go1.27).
const (
	arenaPages = 1 << (rtlayout.ArenaShift - rtlayout.PageShift)
	addressBit = 48 // runtime/malloc.go, heapAddrBits
)

// The struct fields that a walk reads.
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

// fields lists the type and the name of each of these fields, in the order of the constants.
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

// mapType is the header of a map. A program without maps has no such type.
const mapType = "internal/runtime/maps.Map"

// Layout records where the runtime of this process keeps the data that a walk reads.
type Layout struct {
	segments []segment
	globals  []debuginfo.Global // by address
	bias     uint64
	arenas   uintptr // address of the runtime's table of arena lists; only on Windows it has several lists
	allp     uintptr // address of the header of runtime.allp, the slice of processors
	greenTea bool
	mapSize  uintptr // 0: the program has no maps
	at       [numFields]uintptr
}

// A segment is the data or the BSS segment of a module: memory of variables that may hold pointers.
type segment struct{ lo, hi, mask uintptr }

// Load finds the addresses and offsets. bias is added to addresses of the debug information.
// Programs of several modules, such as those with plugins, are refused: the debug information names
// only the first module's variables.
func Load(x *debuginfo.Index, bias uint64) (*Layout, error) {
	l := &Layout{globals: x.Globals(), bias: bias}
	_, l.greenTea = x.TypeByName(rtlayout.GreenTea)
	in := rtlayout.In(x, bias)
	names := strings.Fields(fields)
	for i := range l.at {
		typ, name := names[2*i], names[2*i+1]
		if typ == mapType && in.Struct(typ) == nil {
			continue
		}
		l.at[i] = uintptr(in.Offset(typ, name))
		if i == mapDir {
			l.mapSize = uintptr(in.Size(typ))
		}
	}
	variable := func(name string) uintptr { return uintptr(in.Variable(name).Addr) }
	l.arenas, l.allp = variable("runtime.mheap_"), variable("runtime.allp")
	first := variable("runtime.firstmoduledata")
	if err := in.Err(); err != nil {
		return nil, err
	}
	l.arenas += l.at[heapArenas]
	if rawmem.Word(first+l.at[moduleNext]) != 0 {
		return nil, errors.New("the program has several modules")
	}
	for _, s := range [...][3]uintptr{{moduleData, moduleEnd, moduleDataMask}, {moduleBSS, moduleBSSEnd, moduleBSSMask}} {
		l.segments = append(l.segments, segment{rawmem.Word(first + l.at[s[0]]), rawmem.Word(first + l.at[s[1]]), rawmem.Word(first + l.at[s[2]] + l.at[maskBytes])})
	}
	return l, nil
}

// arenaBase is the offset that the runtime subtracts from an address before it looks up the arena
// of that address (runtime/malloc.go, arenaBaseOffset): 0xffff800000000000 on amd64.
func arenaBase() uintptr {
	if runtime.GOARCH == "amd64" {
		return ^uintptr(1<<(addressBit-1)) + 1
	}
	return 0
}
