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

var elfArchitectures = map[uint16]string{uint16(elf.EM_X86_64): "amd64", uint16(elf.EM_AARCH64): "arm64"}

// OpenELF opens an ELF executable.
func OpenELF(path string) (*File, error) { return Open(path, ReadELF) }

// Sizes and offsets of the format's structures (System V ABI, 64-bit).
const (
	elfHeaderSize   = 64
	sectionSize     = 64
	segmentSize     = 56
	compressionSize = 24
	relaSize        = 24
)

// An elfSection is an entry of the table of sections.
type elfSection struct {
	*Section
	kind  elf.SectionType
	flags elf.SectionFlag
	link  uint32
}

// ReadELF is a Reader of ELF executables, those of Linux and of most other systems. It does without
// elf.File, which would bring a decompressor of 70 KB into each test binary, for a compression that
// Go's linker does not write.
func ReadELF(r io.ReaderAt, size int64) (*File, error) {
	f := New(r, size)
	h, err := f.bytes(0, elfHeaderSize)
	if err != nil || string(h[:len(elf.ELFMAG)]) != elf.ELFMAG {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrNotELF)
	}
	if h[elf.EI_CLASS] != byte(elf.ELFCLASS64) || h[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return nil, fmt.Errorf("%w that is supported: only 64-bit little-endian ones are", ErrNotELF)
	}
	machine := le.Uint16(h[18:])
	f.Format, f.Machine, f.GOARCH = "ELF", uint32(machine), elfArchitectures[machine]
	f.Type, f.Entry = uint32(le.Uint16(h[16:])), le.Uint64(h[24:])
	segments, err := f.elfTable(h, 32, 54, segmentSize)
	if err != nil {
		return nil, fmt.Errorf("%w: its table of segments: %w", ErrNotELF, err)
	}
	for ; len(segments) > 0; segments = segments[segmentSize:] {
		if p := segments; elf.ProgType(le.Uint32(p)) == elf.PT_LOAD {
			f.Segments = append(f.Segments, Segment{
				Offset: le.Uint64(p[8:]), FileSize: le.Uint64(p[32:]), Addr: le.Uint64(p[16:]), Size: le.Uint64(p[40:]),
				Writable: elf.ProgFlag(le.Uint32(p[4:]))&elf.PF_W != 0,
			})
		}
	}
	sections, err := f.elfSections(h)
	if err != nil {
		return nil, fmt.Errorf("%w: its table of sections: %w", ErrNotELF, err)
	}
	f.BuildID = elfBuildID(f, sections)
	f.ReadSymbols = func() ([]Symbol, error) { return elfSymbols(f, sections) }
	f.Exports = func() []Symbol { return elfExports(f) }
	f.Relocated = func(addr uint64) uint64 { return elfAddend(f, sections, addr) }
	return f, nil
}

// le is the byte order of the files.
var le = binary.LittleEndian

// bytes reads a part of the file.
func (f *File) bytes(offset, size uint64) ([]byte, error) {
	return f.Raw(&Section{Offset: offset, FileSize: size}, size)
}

// elfTable reads a table whose offset is at one offset of the header, with the size and the number
// of its entries at another.
func (f *File) elfTable(h []byte, offset, format, size int) ([]byte, error) {
	at, each, n := le.Uint64(h[offset:]), int(le.Uint16(h[format:])), uint64(le.Uint16(h[format+2:]))
	if n > 0 && each != size {
		return nil, fmt.Errorf("entries of %d bytes", each)
	}
	return f.bytes(at, n*uint64(size))
}

// elfSections reads the table of sections, and sets f.Sections.
func (f *File) elfSections(h []byte) ([]elfSection, error) {
	table, err := f.elfTable(h, 40, 58, sectionSize)
	if err != nil {
		return nil, err
	}
	all := make([]elfSection, len(table)/sectionSize)
	nameAt := make([]uint32, len(all))
	for i := range all {
		t := table[i*sectionSize:]
		s := &Section{Addr: le.Uint64(t[16:]), Size: le.Uint64(t[32:]), Offset: le.Uint64(t[24:]), FileSize: le.Uint64(t[32:])}
		nameAt[i] = le.Uint32(t)
		all[i] = elfSection{s, elf.SectionType(le.Uint32(t[4:])), elf.SectionFlag(le.Uint64(t[8:])), le.Uint32(t[40:])}
		f.Sections = append(f.Sections, s)
	}
	if len(all) == 0 {
		return nil, nil
	}
	k := int(le.Uint16(h[62:]))
	if k >= len(all) {
		return nil, errors.New("it has no names")
	}
	names, err := f.bytes(all[k].Offset, all[k].FileSize)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Name, err = elfName(names, nameAt[i]); err != nil {
			return nil, err
		}
		if err := f.describe(&all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// elfName returns the name at an offset of a table of names.
func elfName(names []byte, at uint32) (string, error) {
	if uint64(at) >= uint64(len(names)) {
		return "", errors.New("a name lies beyond the names")
	}
	name, _, _ := bytes.Cut(names[at:], []byte{0})
	return string(name), nil
}

// describe sets what a section is, and how it is decompressed.
func (f *File) describe(s *elfSection) error {
	if s.flags&elf.SHF_COMPRESSED != 0 {
		h, err := f.bytes(s.Offset, compressionSize)
		if err != nil {
			return err
		}
		kind, size := elf.CompressionType(le.Uint32(h)), le.Uint64(h[8:])
		s.Size = size
		s.Decompressed = func() ([]byte, error) {
			if kind != elf.COMPRESS_ZLIB {
				return nil, errors.New("it is not compressed with zlib, as Go's linker does it: link the program without --compress-debug-sections=zstd")
			}
			b, err := f.bytes(s.Offset, s.FileSize)
			if err != nil {
				return nil, err
			}
			return inflate(b[compressionSize:], size)
		}
	}
	switch s.kind {
	case elf.SHT_NOBITS:
		s.Flags |= ZeroFilled
	case elf.SHT_NOTE:
		s.Flags |= ForLoader // notes hold build IDs, whose length may vary
	}
	if s.flags&elf.SHF_ALLOC == 0 {
		return nil
	}
	s.Flags |= Loaded
	switch {
	case s.flags&elf.SHF_EXECINSTR != 0:
		s.Flags |= Executable
	case s.flags&elf.SHF_WRITE == 0 || strings.HasPrefix(s.Name, ".data.rel.ro"):
		s.Flags |= ReadOnly
	case HoldsVariables(s.Name):
		s.Flags |= Variables
	}
	return nil
}

// elfSymbols reads the symbol table.
func elfSymbols(f *File, sections []elfSection) ([]Symbol, error) {
	for _, s := range sections {
		if s.kind != elf.SHT_SYMTAB {
			continue
		}
		if int(s.link) >= len(sections) {
			return nil, errors.New("the symbol table has no names")
		}
		return elfSymbolsIn(f, s.Section, sections[s.link].Section)
	}
	return nil, ErrNoSymbols
}

func elfSymbolsIn(f *File, symbols, strings *Section) (out []Symbol, err error) {
	table, err := f.bytes(symbols.Offset, symbols.FileSize)
	if err != nil {
		return nil, err
	}
	names, err := f.bytes(strings.Offset, strings.FileSize)
	if err != nil {
		return nil, err
	}
	if len(table)%elf.Sym64Size != 0 {
		return nil, errors.New("the symbol table ends within a symbol")
	}
	eachELFSymbol(table[min(len(table), elf.Sym64Size):], names, func(s Symbol, section elf.SectionIndex, _ error) {
		if int(section) < len(f.Sections) {
			s.Section = f.Sections[section]
		}
		out = append(out, s)
	})
	return out, nil
}

// eachELFSymbol calls visit for the symbols of a table, with the number of their section, and with
// an error if the name is not there.
func eachELFSymbol(table, names []byte, visit func(s Symbol, section elf.SectionIndex, unnamed error)) {
	for ; len(table) >= elf.Sym64Size; table = table[elf.Sym64Size:] {
		name, err := elfName(names, le.Uint32(table))
		s := Symbol{Name: name, Kind: elfKind(table[4]), Addr: le.Uint64(table[8:]), Size: le.Uint64(table[16:])}
		visit(s, elf.SectionIndex(le.Uint16(table[6:])), err)
	}
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
	eachELFSymbol(table, names, func(s Symbol, section elf.SectionIndex, unnamed error) {
		if unnamed == nil && section != elf.SHN_UNDEF {
			out = append(out, s)
		}
	})
	return out
}

// elfAddend returns the addend of the relocation at an address, 0 if there is none.
// Position-independent programs that the system's linker made have their pointers in addends.
func elfAddend(f *File, sections []elfSection, addr uint64) uint64 {
	for _, s := range sections {
		if s.kind != elf.SHT_RELA || s.flags&elf.SHF_ALLOC == 0 {
			continue
		}
		r, err := f.SectionBytes(s.Section)
		if err != nil {
			continue
		}
		for ; len(r) >= relaSize; r = r[relaSize:] { // offset, info, addend
			if le.Uint64(r) == addr {
				return le.Uint64(r[16:])
			}
		}
	}
	return 0
}
