package snapshot

import (
	"runtime"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/goruntime"
	"github.com/leakgate/leakgate/internal/engine/heaptype"
	"github.com/leakgate/leakgate/internal/engine/peek"
	"github.com/leakgate/leakgate/internal/engine/withoutdwarf"
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

// WithoutDWARF finds the runtime's layouts, types and variables without debug information.
func WithoutDWARF(p Frozen, caller goruntime.Caller) (heaptype.Names, error) {
	return withoutdwarf.New(p, withoutdwarf.Process{
		GoVersion:    runtime.Version(),
		Module:       uint64(uintptr(lastmoduledatap)),
		WriteBarrier: uint64(uintptr(unsafe.Pointer(&writeBarrier))),
		G:            caller.G,
		PC:           caller.PC,
	})
}

// Constants returns the place of this program's code, types and constants. It returns an error if
// the layouts of its runtime are not known.
func Constants() (*withoutdwarf.Constants, error) {
	return withoutdwarf.ConstantsOf(runtime.Version(), uint64(uintptr(lastmoduledatap)), func(address uint64) uint64 {
		return uint64(peek.Word(uintptr(address)))
	})
}
