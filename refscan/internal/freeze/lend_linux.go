//go:build linux && (amd64 || arm64)

package freeze

import (
	"sync"
	"syscall"
	"unsafe"
)

// Lend returns memory of this process that the frozen one must have as well, since nobody may write to it: the constants and
// tables of a program, which may be most of what would have to be copied. Memory that does not lie in mappings without
// the right to write gives nil. The slice stays valid as long as the process lives.
func (p *Process) Lend(r Range) []byte {
	if !constants.hold(r) {
		return nil
	}
	addr := uintptr(r.Addr)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), r.Len) // no pointer into the Go heap, as vet would suspect
}

// constants are mappings that nobody may write to, as far as they were asked for. A program keeps its own for good.
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

// findConstant looks for mappings that may be read but not written, side by side, that hold a range (proc(5), maps; they are
// listed by address).
func findConstant(r Range) (found Range, ok bool) {
	fd, err := syscall.Open("/proc/self/maps", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return Range{}, false
	}
	defer closeDescriptor(fd)
	var (
		buf      [4096]byte
		line     Range
		end      uint64
		field    int
		constant bool
	)
	for {
		n, err := syscall.Read(fd, buf[:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return Range{}, false
		}
		for _, c := range buf[:n] {
			switch {
			case c == '\n':
				line.Len = end - line.Addr
				switch {
				case !constant:
					found = Range{}
				case found.Len > 0 && found.End() == line.Addr:
					found.Len += line.Len
				default:
					found = line
				}
				if found.Addr <= r.Addr && r.End() <= found.End() {
					return found, true
				}
				if line.Addr >= r.End() {
					return Range{}, false
				}
				line, end, field = Range{}, 0, 0
			case field == 0 && c == '-', field == 1 && c == ' ':
				field++
			case field == 0:
				line.Addr = line.Addr<<4 | digit(c)
			case field == 1:
				end = end<<4 | digit(c)
			case field == 2: // "r", then "w" or "-"
				constant = c == 'r'
				field++
			case field == 3:
				constant = constant && c == '-'
				field++
			}
		}
	}
}

// digit is the value of a hexadecimal digit.
func digit(c byte) uint64 {
	if c >= 'a' {
		return uint64(c-'a') + 10
	}
	return uint64(c - '0')
}
