package liveread

import (
	"errors"
	"runtime"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Facts of the runtime that no debug information has (go1.26 and go1.27).
const (
	arenaPages = 1 << (rtlayout.ArenaShift - rtlayout.PageShift)
	addressBit = 48 // runtime/malloc.go, heapAddrBits
)

// Variables are the package variables of this process, for walks from them.
type Variables struct {
	*Layout
	segments []segment
	globals  []debuginfo.Global // by address
}

// A segment is the data or the BSS segment of a module: memory of variables that may hold
// pointers.
type segment struct{ lo, hi, mask uintptr }

// NewVariables finds the variables. Programs of several modules, such as those with plugins, are
// refused: the debug information names only the first module's variables.
func NewVariables(l *Layout, x *debuginfo.Index) (*Variables, error) {
	v := &Variables{Layout: l, globals: x.Globals()}
	first, module := l.at.Modules, &l.moduledata
	if offheap.Word(first+module.Next) != 0 {
		return nil, errors.New("the program has several modules")
	}
	for _, s := range [...][3]uintptr{{module.Data, module.DataEnd, module.DataMask}, {module.BSS, module.BSSEnd, module.BSSMask}} {
		v.segments = append(v.segments, segment{offheap.Word(first + s[0]), offheap.Word(first + s[1]), offheap.Word(first + s[2])})
	}
	return v, nil
}

// arenaBase is the offset that the runtime subtracts from an address before it looks up the arena
// of that address (runtime/malloc.go, arenaBaseOffset): 0xffff800000000000 on amd64.
func arenaBase() uintptr {
	if runtime.GOARCH == "amd64" {
		return ^uintptr(1<<(addressBit-1)) + 1
	}
	return 0
}
