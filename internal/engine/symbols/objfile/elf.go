package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNotELF is the error for a file that is no ELF executable of a supported kind.
var ErrNotELF = errors.New("not an ELF executable")

var elfArchitectures = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// OpenELF opens an ELF executable.
func OpenELF(path string) (*File, error) { return Open(path, ReadELF) }

// ReadELF is a Reader of ELF executables, those of Linux and of most other systems.
func ReadELF(r io.ReaderAt, size int64) (*File, error) {
	e, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotELF, err)
	}
	if e.Class != elf.ELFCLASS64 || e.Data != elf.ELFDATA2LSB {
		return nil, fmt.Errorf("%w that is supported: only 64-bit little-endian ones are", ErrNotELF)
	}
	f := New(r, size)
	f.Format, f.Machine, f.GOARCH = "ELF", uint32(e.Machine), elfArchitectures[e.Machine]
	f.Type, f.Entry = uint32(e.Type), e.Entry
	for _, s := range e.Sections {
		f.Sections = append(f.Sections, elfSection(s))
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD {
			f.Segments = append(f.Segments, Segment{Offset: p.Off, FileSize: p.Filesz, Addr: p.Vaddr, Size: p.Memsz, Writable: p.Flags&elf.PF_W != 0})
		}
	}
	f.BuildID = elfBuildID(f, e.Sections)
	f.ReadSymbols = func() ([]Symbol, error) { return elfSymbols(f, e) }
	f.Exports = func() []Symbol { return elfExports(f) }
	f.Relocated = func(addr uint64) uint64 { return elfAddend(f, e.Sections, addr) }
	return f, nil
}

func elfSection(s *elf.Section) *Section {
	out := &Section{Name: s.Name, Addr: s.Addr, Size: s.Size, Offset: s.Offset, FileSize: s.FileSize}
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		out.Decompressed = s.Data
	}
	if s.Type == elf.SHT_NOBITS {
		out.Flags |= ZeroFilled
	}
	if s.Type == elf.SHT_NOTE {
		out.Flags |= ForLoader // notes hold build IDs, whose length may vary
	}
	if s.Flags&elf.SHF_ALLOC == 0 {
		return out
	}
	out.Flags |= Loaded
	switch {
	case s.Flags&elf.SHF_EXECINSTR != 0:
		out.Flags |= Executable
	case s.Flags&elf.SHF_WRITE == 0 || strings.HasPrefix(s.Name, ".data.rel.ro"):
		out.Flags |= ReadOnly
	case HoldsVariables(s.Name):
		out.Flags |= Variables
	}
	return out
}

func elfSymbols(f *File, e *elf.File) ([]Symbol, error) {
	list, err := e.Symbols()
	if err != nil {
		if errors.Is(err, elf.ErrNoSymbols) {
			err = ErrNoSymbols
		}
		return nil, err
	}
	out := make([]Symbol, len(list))
	for i := range list {
		s := &list[i]
		out[i] = Symbol{Name: s.Name, Addr: s.Value, Size: s.Size}
		if int(s.Section) < len(f.Sections) {
			out[i].Section = f.Sections[s.Section]
		}
		out[i].Kind = elfKind(s.Info)
	}
	return out, nil
}

func elfKind(info byte) Kind {
	switch elf.ST_TYPE(info) {
	case elf.STT_FUNC:
		return Function
	case elf.STT_OBJECT:
		return Object
	}
	return OtherSymbol
}

// elfExports reads the dynamic symbol table, .dynsym (debug/elf would also read the versions of its
// symbols).
func elfExports(f *File) (out []Symbol) {
	table, err := f.Contents(".dynsym")
	if err != nil {
		return nil
	}
	names, err := f.Contents(".dynstr")
	if err != nil {
		return nil
	}
	for ; len(table) >= elf.Sym64Size; table = table[elf.Sym64Size:] {
		at := binary.LittleEndian.Uint32(table)
		if uint64(at) >= uint64(len(names)) || binary.LittleEndian.Uint16(table[6:]) == uint16(elf.SHN_UNDEF) {
			continue
		}
		name, _, _ := bytes.Cut(names[at:], []byte{0})
		s := Symbol{Name: string(name), Addr: binary.LittleEndian.Uint64(table[8:]), Size: binary.LittleEndian.Uint64(table[16:])}
		s.Kind = elfKind(table[4])
		out = append(out, s)
	}
	return out
}

// relaSize is the size of a relocation with an addend (System V ABI).
const relaSize = 24

// elfAddend returns the addend of the relocation at an address, 0 if there is none.
// Position-independent programs that the system's linker made have their pointers in addends.
func elfAddend(f *File, sections []*elf.Section, addr uint64) uint64 {
	for i, s := range sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		r, err := f.SectionBytes(f.Sections[i])
		if err != nil {
			continue
		}
		for ; len(r) >= relaSize; r = r[relaSize:] { // offset, info, addend
			if binary.LittleEndian.Uint64(r) == addr {
				return binary.LittleEndian.Uint64(r[16:])
			}
		}
	}
	return 0
}
