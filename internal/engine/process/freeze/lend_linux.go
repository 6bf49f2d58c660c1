//go:build linux && (amd64 || arm64)

package freeze

import (
	"bytes"
	"os"
	"sync"

	"github.com/leakgate/leakgate/internal/engine/memory/rawmem"
	"github.com/leakgate/leakgate/internal/procmaps"
)

// Lend returns memory of this process that the frozen process must have as well, since nobody may
// write to it: the constants and tables of a program, which may be most of the memory to copy. It
// returns nil if the range does not lie in mappings without the right to write. The slice stays
// valid as long as the process lives.
func (p *Process) Lend(r Range) []byte {
	if !constants.hold(r) {
		return nil
	}
	return rawmem.Bytes(uintptr(r.Addr), uintptr(r.Len))
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
		if k.Addr <= r.Addr && r.End() <= k.End() {
			return true
		}
	}
	k, ok := findConstant(r)
	if ok && len(m.known) < maxKnown {
		m.known = append(m.known, k)
	}
	return ok
}

// findConstant looks for adjacent mappings that may be read but not written, and that hold a range
// (proc(5), maps; the file lists mappings by address).
func findConstant(r Range) (found Range, ok bool) {
	list, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return Range{}, false
	}
	for line := range bytes.Lines(list) {
		a, ok := procmaps.Parse(bytes.TrimSpace(line))
		switch {
		case !ok || a.Start >= r.End():
			return Range{}, false
		case !a.Constant():
			found = Range{}
		case found.Len > 0 && found.End() == a.Start:
			found.Len += a.End - a.Start
		default:
			found = Range{Addr: a.Start, Len: a.End - a.Start}
		}
		if found.Addr <= r.Addr && r.End() <= found.End() {
			return found, true
		}
	}
	return Range{}, false
}
