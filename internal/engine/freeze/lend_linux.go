//go:build linux && (amd64 || arm64)

package freeze

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// Lend returns memory of this process that the frozen one must have as well, since nobody may write
// to it: the constants and tables of a program, which may be most of what would have to be copied.
// Memory that does not lie in mappings without the right to write gives nil. The slice stays valid
// as long as the process lives.
func (p *Process) Lend(r Range) []byte {
	if !constants.hold(r) {
		return nil
	}
	addr := uintptr(r.Addr)
	// no pointer into the Go heap, as vet would suspect
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), r.Len)
}

// constants are mappings that nobody may write to, as far as they were asked for. A program keeps
// its own for good.
var constants mappings

type mappings struct {
	sync.Mutex
	known []Range
}

// maxKnown bounds the list. A program has two such mappings or three, and a plugin as many again.
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

// findConstant looks for mappings that may be read but not written, side by side, that hold a range
// (proc(5), maps; they are listed by address).
func findConstant(r Range) (found Range, ok bool) {
	list, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return Range{}, false
	}
	for line := range strings.Lines(string(list)) {
		// "7f0e4a000000-7f0e4a021000 r--p 00000000 08:01 1234 /path"
		bounds, rights, _ := strings.Cut(line, " ")
		first, last, _ := strings.Cut(bounds, "-")
		low, err1 := strconv.ParseUint(first, 16, 64)
		high, err2 := strconv.ParseUint(last, 16, 64)
		switch {
		case err1 != nil || err2 != nil || low >= r.End():
			return Range{}, false
		case !strings.HasPrefix(rights, "r-"):
			found = Range{}
		case found.Len > 0 && found.End() == low:
			found.Len += high - low
		default:
			found = Range{Addr: low, Len: high - low}
		}
		if found.Addr <= r.Addr && r.End() <= found.End() {
			return found, true
		}
	}
	return Range{}, false
}
