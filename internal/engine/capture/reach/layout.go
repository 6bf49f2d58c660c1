// Package reach counts the objects that package variables of this very process lead to. It reads
// the memory in place and up to a limit, and finds pointers by the masks that the garbage collector
// uses.
package reach

import (
	"errors"
	"runtime"

	"github.com/leakgate/leakgate/internal/engine/memory/rawmem"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Facts of the runtime that no debug information has (go1.26 and go1.27).
const (
	arenaPages = 1 << (rtlayout.ArenaShift - rtlayout.PageShift)
	addressBit = 48 // runtime/malloc.go, heapAddrBits
)

// Layout records where the runtime of this process keeps the data that a walk reads.
type Layout struct {
	segments []segment
	globals  []debuginfo.Global // by address
	bias     uint64
	greenTea bool
	at       rtlayout.Variables
	arenas   uintptr // address of the runtime's table of arena lists; only on Windows it has several lists
	arena    rtlayout.Arena
	mspan    rtlayout.Span
	p        rtlayout.Processor
	header   rtlayout.Map // size 0: the program has no maps
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
	var heap rtlayout.Heap
	var module rtlayout.Module
	in.Fill(&l.at, &heap, &l.arena, &l.mspan, &l.p, &module)
	if in.Struct(rtlayout.MapType) != nil {
		in.Fill(&l.header)
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	l.arenas = l.at.Heap + heap.Arenas
	first := l.at.Modules
	if rawmem.Word(first+module.Next) != 0 {
		return nil, errors.New("the program has several modules")
	}
	for _, s := range [...][3]uintptr{{module.Data, module.DataEnd, module.DataMask}, {module.BSS, module.BSSEnd, module.BSSMask}} {
		l.segments = append(l.segments, segment{rawmem.Word(first + s[0]), rawmem.Word(first + s[1]), rawmem.Word(first + s[2])})
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
