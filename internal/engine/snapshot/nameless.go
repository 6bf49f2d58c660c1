package snapshot

import (
	"runtime"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/goruntime"
	"github.com/leakgate/leakgate/internal/engine/heaptype"
	"github.com/leakgate/leakgate/internal/engine/nameless"
)

// The linker lets packages refer to these two of the runtime's variables (go1.26 and 1.27
// runtime/symtab.go and mgc.go).
//
//go:linkname lastmoduledatap runtime.lastmoduledatap
var lastmoduledatap unsafe.Pointer

//go:linkname writeBarrier runtime.writeBarrier
var writeBarrier struct {
	enabled bool
	pad     [3]byte
	alignme uint64
}

// Nameless makes do without debug information.
func Nameless(p Frozen, caller goruntime.Caller) (heaptype.Names, error) {
	return nameless.New(p, nameless.Process{
		GoVersion:    runtime.Version(),
		Module:       uint64(uintptr(lastmoduledatap)),
		WriteBarrier: uint64(uintptr(unsafe.Pointer(&writeBarrier))),
		G:            caller.G,
		PC:           caller.PC,
	})
}
