package anyfile

import (
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// ErrNotMachO is the error for a file that is no Mach-O executable of a supported kind.
var ErrNotMachO = errors.New("not a Mach-O executable")

var machoArchitectures = map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}

// ReadMachO is an objfile.Reader of Mach-O executables, those of macOS.
func ReadMachO(r io.ReaderAt, size int64) (f *objfile.File, err error) {
	defer func() {
		if p := recover(); p != nil { // debug/macho is not made for damaged files
			f, err = nil, fmt.Errorf("%w: %v", ErrNotMachO, p)
		}
	}()
	m, err := macho.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotMachO, err)
	}
	if m.Magic != macho.Magic64 || m.ByteOrder != binary.LittleEndian {
		return nil, fmt.Errorf("%w that is supported: only 64-bit little-endian ones are", ErrNotMachO)
	}
	f = objfile.New(r, size)
	f.Format, f.Machine, f.GOARCH = "Mach-O", uint32(m.Cpu), machoArchitectures[m.Cpu]
	f.Type = uint32(m.Type)
	for _, s := range m.Sections {
		f.Sections = append(f.Sections, machoSection(f, s))
	}
	f.BuildID = f.ReadTextBuildID()
	f.ReadSymbols = func() ([]objfile.Symbol, error) { return machoSymbols(f, m.Symtab) }
	return f, nil
}

// Types and attributes of sections (mach-o/loader.h).
const (
	typeMask            = 0xff
	zeroFill            = 0x01
	gbZeroFill          = 0x0c
	threadLocalZeroFill = 0x12
	pureInstructions    = 0x80000000
	someInstructions    = 0x00000400
)

func machoSection(f *objfile.File, s *macho.Section) *objfile.Section {
	out := &objfile.Section{Name: elfName(s), Addr: s.Addr, Size: s.Size, Offset: uint64(s.Offset), FileSize: s.Size}
	switch s.Flags & typeMask {
	case zeroFill, gbZeroFill, threadLocalZeroFill:
		out.Flags, out.FileSize = objfile.ZeroFilled, 0
	}
	if s.Seg == "__DWARF" {
		if strings.HasPrefix(s.Name, "__zdebug_") {
			out.Decompressed = func() ([]byte, error) { return f.ReadZdebug(out) }
		}
		return out
	}
	out.Flags |= objfile.Loaded
	switch {
	case s.Flags&(pureInstructions|someInstructions) != 0:
		out.Flags |= objfile.Executable
	case s.Seg == "__TEXT" || s.Seg == "__DATA_CONST":
		out.Flags |= objfile.ReadOnly
	case objfile.HoldsVariables(out.Name):
		out.Flags |= objfile.Variables
	}
	return out
}

// elfName returns the name that ELF files have for a section: Go's linker replaced the dots (go1.26
// and 1.27 cmd/link/internal/ld/macho.go, machoshbits).
func elfName(s *macho.Section) string {
	name := strings.TrimPrefix(s.Name, "__")
	if rest, ok := strings.CutPrefix(name, "zdebug_"); ok {
		name = "debug_" + rest
	}
	if rest, ok := strings.CutPrefix(name, "go_"); ok {
		name = "go." + rest
	}
	if s.Seg == "__DATA_CONST" && name == "rodata" {
		name = "data.rel.ro"
	}
	return "." + name
}

// machoSymbols reads the symbol table without the entries for debuggers (stabs).
func machoSymbols(f *objfile.File, table *macho.Symtab) ([]objfile.Symbol, error) {
	const (
		debugger  = 0xe0 // N_STAB
		kind      = 0x0e // N_TYPE
		inSection = 0x0e // N_SECT
	)
	if table == nil || len(table.Syms) == 0 {
		return nil, objfile.ErrNoSymbols
	}
	out := make([]objfile.Symbol, 0, len(table.Syms))
	for i := range table.Syms {
		s := &table.Syms[i]
		n := int(s.Sect) - 1
		if s.Type&debugger != 0 || s.Type&kind != inSection || n < 0 || n >= len(f.Sections) {
			continue
		}
		symbol := objfile.Symbol{Name: goName(s.Name), Addr: s.Value, Section: f.Sections[n], Kind: objfile.Object}
		if symbol.Section.Flags&objfile.Executable != 0 {
			symbol.Kind = objfile.Function
		}
		out = append(out, symbol)
	}
	if len(out) == 0 {
		return nil, objfile.ErrNoSymbols
	}
	f.SizeSymbols(out)
	return out, nil
}

// goName removes the underscore that C symbols begin with. Go symbols have a dot in their names and
// no underscore before them (go1.26 and 1.27 cmd/link/internal/ld/macho.go, machosymtab).
func goName(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return strings.TrimPrefix(name, "_")
}
