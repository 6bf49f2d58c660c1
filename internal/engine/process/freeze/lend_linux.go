//go:build linux && (amd64 || arm64)

package freeze

import (
	"os"
	"sync"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/procfs"
)

// Lend returns memory of this process that the frozen process must have as well, since nobody may
// write to it: the constants and tables of a program, which may be most of the memory to copy. It
// returns nil if the range does not lie in mappings without the right to write. The slice stays
// valid as long as the process lives.
func (p *Process) Lend(r Range) []byte {
	if !constants.hold(r) {
		return nil
	}
	return offheap.Bytes(uintptr(r.Addr), uintptr(r.Len))
}

// constants are the mappings found so far that nobody may write to. A program keeps its own
// mappings for good.
var constants mappings

type mappings struct {
	sync.Mutex
	known []Range
}

// maxKnown bounds the list. A program has two or three such mappings, and each plugin as many.
const maxKnown = 64

func (m *mappings) hold(r Range) bool {
	m.Lock()
	defer m.Unlock()
	for _, k := range m.known {
		if k.Holds(r) {
			return true
		}
	}
	k, ok := findConstant(r)
	if ok && len(m.known) < maxKnown {
		m.known = append(m.known, k)
	}
	return ok
}

// findConstant looks for adjacent mappings that may be read but not written, and that hold a range.
func findConstant(r Range) (found Range, ok bool) {
	list, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return Range{}, false
	}
	var all []Range
	for a := range procfs.Areas(list) {
		if a.Constant() {
			all = append(all, Range{Addr: a.Start, Len: a.End - a.Start})
		}
	}
	for _, found := range image.Union(all) {
		if found.Holds(r) {
			return found, true
		}
	}
	return Range{}, false
}
