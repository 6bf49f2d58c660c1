package objfile

// A Section is a part of an executable.
type Section struct {
	Name             string // as in ELF files: ".text", ".rodata", ".data", ".debug_info"
	Addr, Size       uint64 // in memory, at link time
	Offset, FileSize uint64 // in the file
	Flags            Flags

	// Decompressed returns the contents of a section that is compressed in the file; nil for other
	// sections.
	Decompressed func() ([]byte, error)
}

// Flags are the properties of a section.
type Flags uint8

// Properties of a section.
const (
	Loaded     Flags = 1 << iota // the program has it in memory
	Executable                   // it holds code
	ReadOnly                     // it holds data that does not change once the program was relocated
	Variables                    // it holds package variables
	ZeroFilled                   // the file has no bytes of it
	ForLoader                    // it tells the loader or tools about the file: linking again may change its place and size
)

// Has reports whether an address lies in the section.
func (s *Section) Has(addr uint64) bool { return addr >= s.Addr && addr-s.Addr < s.Size }

// variableSections are the sections into which Go's linker puts package variables.
var variableSections = [...]string{".data", ".bss", ".noptrdata", ".noptrbss"}

// HoldsVariables reports whether a section of that name holds package variables.
func HoldsVariables(name string) bool {
	for _, s := range variableSections {
		if s == name {
			return true
		}
	}
	return false
}
