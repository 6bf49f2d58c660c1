package allocrun

import (
	"debug/elf"
	"errors"

	"github.com/leakgate/leakgate/internal/alloccode"
)

// readTypes finds the type descriptors (go1.26, go1.27: cmd/link/internal/ld/data.go).
func readTypes(memory func(address, size uint64) []byte, symbols map[string]elf.Symbol) (*alloccode.Types, error) {
	start, end := symbols["runtime.types"].Value, symbols["runtime.etypes"].Value
	if start == 0 || end <= start || end-start > 1<<30 {
		return nil, errors.New("the test binary has no table of types: this Go version is not known to leakgate alloc")
	}
	data := memory(start, end-start)
	if data == nil {
		return nil, errors.New("the test binary's table of types cannot be read")
	}
	return alloccode.NewTypes(start, data), nil
}

// readMemory returns the file's content for an address range of the program, or nil.
func readMemory(f *elf.File, address, size uint64) []byte {
	for _, s := range f.Sections {
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_ALLOC != 0 && address >= s.Addr && address+size <= s.Addr+s.Size {
			data := make([]byte, size)
			if _, err := s.ReadAt(data, int64(address-s.Addr)); err != nil {
				return nil
			}
			return data
		}
	}
	return nil
}
