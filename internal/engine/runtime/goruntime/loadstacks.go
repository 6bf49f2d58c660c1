package goruntime

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// LoadStacks is Load for a reader that needs only goroutines and their stacks: it neither copies
// the heap nor needs mark bits, so a collection may be under way. The model has no spans and no
// objects.
func LoadStacks(mem *image.Space, names *debuginfo.Index, bias uint64, goarch string, caller Caller) (*Model, error) {
	m, err := newModel(mem, names, bias, goarch)
	if err != nil {
		return nil, err
	}
	m.pages = newPageTable(nil)
	if err := m.prefetchGoroutines(); err != nil {
		return nil, fmt.Errorf("goroutines: %w", err)
	}
	if err := m.loadGoroutines(caller, nil); err != nil {
		return nil, fmt.Errorf("goroutines: %w", err)
	}
	return m, mem.Err()
}

// prefetchGoroutines copies all g in bulk. With the heap in the image they would be there already;
// read one by one, they would exceed the limit of small reads.
func (m *Model) prefetchGoroutines() error {
	gs, err := m.AllGs()
	if err != nil {
		return err
	}
	return m.loadAround(gs, uint64(m.g.Size))
}

// AllGs returns the addresses of all g, including those that have ended and wait to be reused.
func (m *Model) AllGs() ([]uint64, error) {
	at := &m.variables
	list, n := m.Mem.U64(uint64(at.AllGs)), m.Mem.U64(uint64(at.AllGs)+8)
	if m.stopped {
		// The list may just be growing. The runtime writes these two variables in an order that
		// readers can rely on (runtime/proc.go, allgadd).
		n = m.Mem.U64(uint64(at.LenGs))
		list = m.Mem.U64(uint64(at.FirstG))
	}
	if n > maxGoroutines {
		return nil, fmt.Errorf("the program claims %d goroutines", n)
	}
	b := m.Mem.Bytes(list, n*8)
	if b == nil {
		return nil, m.Mem.Err()
	}
	return words(b), nil
}
