//go:build amd64 || arm64

package inplace

import (
	"syscall"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

var virtualQuery = syscall.NewLazyDLL("kernel32.dll").NewProc("VirtualQuery")

// memoryInformation is MEMORY_BASIC_INFORMATION of winnt.h.
type memoryInformation struct {
	base, allocation   uintptr
	allocationProtect  uint32
	partition          uint16
	size               uintptr
	state, protect, of uint32
}

// readOnlyMemory lists the parts that nobody may write to of the program files that hold the
// tables: the system maps each file as one allocation, with a page protection for each section.
func readOnlyMemory(tables []image.Range) []image.Range {
	var found []image.Range
	for _, t := range tables {
		within, ok := query(uintptr(t.Addr))
		if !ok {
			continue
		}
		for at := within.allocation; ; {
			m, ok := query(at)
			if !ok || m.allocation != within.allocation || m.base+m.size <= at {
				break
			}
			if m.readOnly() {
				found = append(found, image.Range{Addr: uint64(m.base), Len: uint64(m.size)})
			}
			at = m.base + m.size
		}
	}
	return image.Union(found)
}

func query(at uintptr) (m memoryInformation, ok bool) {
	n, _, _ := virtualQuery.Call(at, uintptr(unsafe.Pointer(&m)), unsafe.Sizeof(m))
	return m, n >= unsafe.Sizeof(m)
}

// readOnly reports whether pages may be read but not written to. Guard pages and pages that are not
// to be cached have further bits in protect, so they do not count.
func (m *memoryInformation) readOnly() bool {
	const commit, pageReadOnly, pageExecuteRead = 0x1000, 0x02, 0x20
	return m.state == commit && (m.protect == pageReadOnly || m.protect == pageExecuteRead)
}
