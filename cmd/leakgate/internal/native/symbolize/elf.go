package symbolize

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/dump"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// A frame is a function at an address.
type frame struct {
	Name       string // as in the source
	SystemName string // as the linker knows it
	File       string // "" if it is not known
	Line       int
	StartLine  int // of the function
}

// An elfFile is a program or a shared library. It is not safe for concurrent use.
type elfFile struct {
	BuildID string // in hexadecimal, "" if it has none
	// DebugFile is the separate debug file that is used, "" if there is none.
	DebugFile string

	elf, debug *elf.File
	symbols    *rangeTable[string]
	lines      *lines // nil without DWARF
}

// openELF opens a file for its names. Separate debug files are looked for below debugDirs, too. It
// is an error if the file is no ELF file, or wantBuildID is neither "" nor that of the file.
func openELF(path, wantBuildID string, debugDirs []string) (*elfFile, error) {
	x, err := openImage(path)
	var format *elf.FormatError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("the file is not there")
	case errors.As(err, &format), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("it is no ELF file: %w", err)
	case err != nil:
		return nil, err
	}
	f := &elfFile{elf: x, BuildID: buildID(x)}
	if wantBuildID != "" && f.BuildID != wantBuildID {
		_ = x.Close()
		if f.BuildID == "" {
			return nil, fmt.Errorf("the file there has no build ID; what was mapped has %s", wantBuildID)
		}
		return nil, fmt.Errorf("it is another build: the file there has the build ID %s, what was mapped has %s", f.BuildID, wantBuildID)
	}
	f.DebugFile, f.debug = separate(path, f, debugDirs)
	f.load()
	return f, nil
}

// openImage is elf.Open for an ordinary file: a profile names any.
func openImage(path string) (*elf.File, error) {
	f, err := wholefile.Open(path)
	if err != nil {
		return nil, err
	}
	_ = f.Close()
	return elf.Open(path)
}

// readELF reads an ELF image in memory. Its symbols and lines must have addresses already, not
// offsets in sections.
func readELF(image []byte) (*elfFile, error) {
	x, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	f := &elfFile{elf: x, BuildID: buildID(x)}
	f.load()
	return f, nil
}

// load makes the tables of symbols and lines.
func (f *elfFile) load() {
	f.symbols = symbolTable(f.elf, f.debug)
	for _, x := range []*elf.File{f.debug, f.elf} {
		if x == nil || x.Section(".debug_info") == nil && x.Section(".zdebug_info") == nil {
			continue
		}
		if data, err := x.DWARF(); err == nil {
			f.lines = newLines(data, f.isCode)
			return
		}
	}
}

// Close closes the files.
func (f *elfFile) Close() {
	_ = f.elf.Close()
	if f.debug != nil {
		_ = f.debug.Close()
	}
}

// Sources describes where the names of the file come from, in words for a message.
func (f *elfFile) Sources() string {
	var have []string
	add := func(x *elf.File, where string) {
		switch {
		case x == nil:
			return
		case x.SectionByType(elf.SHT_SYMTAB) != nil:
			have = append(have, "symbols"+where)
		case x.SectionByType(elf.SHT_DYNSYM) != nil && f.debug == nil:
			have = append(have, "exported symbols only: stripped, without a debug file")
		}
	}
	add(f.elf, "")
	add(f.debug, " of "+f.DebugFile)
	if f.lines != nil {
		have = append(have, "lines")
	}
	if len(have) == 0 {
		return "no symbols: stripped, without a debug file"
	}
	return strings.Join(have, ", ")
}

// isCode reports whether an address lies in a section with code.
func (f *elfFile) isCode(addr uint64) bool {
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Addr <= addr && addr-s.Addr < s.Size {
			return true
		}
	}
	return false
}

// Ranges returns the begin and end addresses of the sections with code.
func (f *elfFile) Ranges() (ranges [][2]uint64) {
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Flags&elf.SHF_ALLOC != 0 && s.Addr != 0 && s.Size > 0 && s.Addr+s.Size > s.Addr {
			ranges = append(ranges, [2]uint64{s.Addr, s.Addr + s.Size})
		}
	}
	return ranges
}

// pageSize is the largest page size that systems have. Segments are aligned by their own p_align,
// which is at least the page size.
const pageSize = 64 << 10

// Bias returns the load bias of a mapping: an address in the mapping, minus the bias, is the
// address in the file. It is an error if no segment of the file fits the mapping: then the file is
// not the one that was mapped.
func (f *elfFile) Bias(m *dump.Mapping) (uint64, error) {
	for _, p := range f.elf.Progs {
		if p.Type != elf.PT_LOAD || p.Filesz == 0 || (p.Flags&elf.PF_X != 0) != m.Executable {
			continue
		}
		page := max(min(p.Align, pageSize), 1)
		first, end := p.Off-p.Off%page, p.Off+p.Filesz
		if m.Offset >= first && m.Offset < end && m.Offset+(m.End-m.Start) <= end+pageSize {
			return m.Start - m.Offset + p.Off - p.Vaddr, nil
		}
	}
	return 0, fmt.Errorf("it is not the file that was mapped: it has no code at the offsets %#x to %#x", m.Offset, m.Offset+(m.End-m.Start))
}

// Frames returns the functions at an address of the file, the innermost first; none if no function
// with a name contains the address.
func (f *elfFile) Frames(addr uint64) []frame {
	symbol, named := f.symbols.At(addr)
	var frames []frame
	if f.lines != nil {
		frames = f.lines.frames(addr)
	}
	switch {
	case len(frames) == 0 && !named:
		return nil
	case len(frames) == 0:
		return []frame{{Name: demangled(symbol), SystemName: symbol}}
	case named: // the symbol has a C++ function's namespace, where DWARF may not
		outer := &frames[len(frames)-1]
		outer.Name, outer.SystemName = demangled(symbol), symbol
	}
	if frames[len(frames)-1].Name == "" {
		return nil
	}
	return frames
}

// SymbolAddress returns the address of a symbol that the file defines, 0 if there is none.
func (f *elfFile) SymbolAddress(name string) uint64 {
	for _, x := range []*elf.File{f.elf, f.debug} {
		if x == nil {
			continue
		}
		all, _ := x.Symbols()
		dynamic, _ := x.DynamicSymbols()
		for _, s := range append(dynamic, all...) {
			if s.Name == name && s.Section != elf.SHN_UNDEF {
				return s.Value
			}
		}
	}
	return 0
}

// buildID returns the linker's build ID, in hexadecimal.
func buildID(x *elf.File) string {
	for _, s := range x.Sections {
		if s.Type != elf.SHT_NOTE {
			continue
		}
		if notes, err := s.Data(); err == nil {
			if id := dump.BuildIDOf(notes, x.ByteOrder); id != "" {
				return id
			}
		}
	}
	return ""
}
