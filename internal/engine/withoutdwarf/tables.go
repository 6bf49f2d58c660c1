package withoutdwarf

import (
	"errors"

	"github.com/leakgate/leakgate/internal/engine/image"
)

// Constants are the address ranges of a running program that never change.
type Constants struct {
	Code, Types image.Range   // instructions; type descriptors
	Data        []image.Range // constants, static dictionaries among them
}

// ConstantsOf reads the ranges of a program of a Go version from its moduledata, which must be the
// only one. module is the moduledata's address; word reads a word of the program's memory.
func ConstantsOf(goVersion string, module uint64, word func(address uint64) uint64) (*Constants, error) {
	minor, err := supportedMinor(goVersion)
	if err != nil {
		return nil, err
	}
	at := make(map[string]uint64)
	for _, f := range parseLayouts(tables[minor])["runtime.moduledata"].Fields {
		at[f.Name] = module + uint64(f.Offset)
	}
	if word(at["next"]) != 0 {
		return nil, errors.New("the program has more than one module: a plugin or shared libraries")
	}
	between := func(from, to string) image.Range {
		low := word(at[from])
		return image.Range{Addr: low, Len: max(word(at[to]), low) - low}
	}
	c := &Constants{Code: between("text", "etext"), Types: between("types", "etypes"), Data: []image.Range{between("rodata", "epclntab")}}
	if c.Types.Addr >= c.Data[0].End() {
		// In position-independent programs constants with addresses in them are apart, before the
		// variables (cmd/link/internal/ld/data.go, dodata).
		c.Data = append(c.Data, between("types", "data"))
	}
	return c, nil
}
