package anyfile

import (
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// ErrNotPE is the error for a file that is no PE executable of a supported kind.
var ErrNotPE = errors.New("not a PE executable")

var peArchitectures = map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}

// ReadPE is an objfile.Reader of PE executables, those of Windows.
func ReadPE(r io.ReaderAt, size int64) (f *objfile.File, err error) {
	defer func() {
		if p := recover(); p != nil { // debug/pe is not made for damaged files
			f, err = nil, fmt.Errorf("%w: %v", ErrNotPE, p)
		}
	}()
	p, err := pe.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotPE, err)
	}
	header, ok := p.OptionalHeader.(*pe.OptionalHeader64)
	if !ok {
		return nil, fmt.Errorf("%w that is supported: only 64-bit ones are", ErrNotPE)
	}
	f = objfile.New(r, size)
	f.Format, f.Machine, f.GOARCH = "PE", uint32(p.Machine), peArchitectures[p.Machine]
	f.Type = uint32(p.Characteristics &^ strippedFlags)
	for _, s := range p.Sections {
		f.Sections = append(f.Sections, peSection(f, s, header.ImageBase))
	}
	f.BuildID = f.ReadTextBuildID()
	f.ReadSymbols = func() ([]objfile.Symbol, error) { return peSymbols(f, p.Symbols) }
	return f, nil
}

// strippedFlags are characteristics that only say what a file has been stripped of.
const strippedFlags = pe.IMAGE_FILE_LINE_NUMS_STRIPPED | pe.IMAGE_FILE_LOCAL_SYMS_STRIPPED | pe.IMAGE_FILE_DEBUG_STRIPPED

// elfNames are the names that ELF files have for sections.
var elfNames = map[string]string{".rdata": ".rodata"}

// forLoader are the sections that follow the debug information, so that their addresses depend on
// its size (go1.26 and 1.27 cmd/link/internal/ld/pe.go, asmbPe).
var forLoader = map[string]bool{".idata": true, ".edata": true, ".reloc": true, ".rsrc": true}

func peSection(f *objfile.File, s *pe.Section, base uint64) *objfile.Section {
	out := &objfile.Section{
		Name: s.Name, Addr: base + uint64(s.VirtualAddress), Size: uint64(s.VirtualSize),
		Offset: uint64(s.Offset), FileSize: uint64(s.Size),
	}
	if name, ok := elfNames[s.Name]; ok {
		out.Name = name
	}
	if out.Size == 0 {
		out.Size = out.FileSize
	}
	// the file pads sections to whole blocks, and leaves out variables that are zero
	out.FileSize = min(out.FileSize, out.Size)
	rest, compressed := strings.CutPrefix(s.Name, ".zdebug_")
	switch {
	case compressed:
		out.Name = ".debug_" + rest
		out.Decompressed = func() ([]byte, error) { return f.ReadZdebug(out) }
		return out
	case strings.HasPrefix(s.Name, ".debug_") || s.Name == ".symtab" || s.Characteristics&pe.IMAGE_SCN_MEM_DISCARDABLE != 0 && !forLoader[s.Name]:
		return out
	}
	out.Flags = objfile.Loaded
	if out.FileSize == 0 || s.Characteristics&pe.IMAGE_SCN_CNT_UNINITIALIZED_DATA != 0 {
		out.Flags |= objfile.ZeroFilled
	}
	switch {
	case forLoader[s.Name]:
		out.Flags |= objfile.ForLoader
	case s.Characteristics&pe.IMAGE_SCN_MEM_EXECUTE != 0:
		out.Flags |= objfile.Executable
	case s.Characteristics&pe.IMAGE_SCN_MEM_WRITE == 0:
		out.Flags |= objfile.ReadOnly
	case objfile.HoldsVariables(out.Name):
		out.Flags |= objfile.Variables
	}
	return out
}

// peSymbols reads the COFF symbol table. Values in it are offsets in sections, whose numbers begin
// at 1.
func peSymbols(f *objfile.File, list []*pe.Symbol) ([]objfile.Symbol, error) {
	if len(list) == 0 {
		return nil, objfile.ErrNoSymbols
	}
	const function = 2 << 4 // IMAGE_SYM_DTYPE_FUNCTION
	out := make([]objfile.Symbol, 0, len(list))
	for _, s := range list {
		i := int(s.SectionNumber) - 1
		if i < 0 || i >= len(f.Sections) {
			continue
		}
		symbol := objfile.Symbol{Name: s.Name, Addr: f.Sections[i].Addr + uint64(s.Value), Section: f.Sections[i], Kind: objfile.Object}
		if s.Type == function {
			symbol.Kind = objfile.Function
		}
		out = append(out, symbol)
	}
	f.SizeSymbols(out)
	return out, nil
}
