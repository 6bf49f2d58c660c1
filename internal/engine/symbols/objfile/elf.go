package objfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNotELF is the error for a file that is no ELF executable of a supported kind.
var ErrNotELF = errors.New("not an ELF executable")

// Architectures has the names of the processors, by their numbers in ELF files.
var Architectures = map[uint16]string{machineX86_64: "amd64", machineAArch64: "arm64"}

// OpenELF opens an ELF executable.
func OpenELF(path string) (*File, error) { return Open(path, ReadELF) }

// Sizes and numbers of the format (System V ABI, 64-bit).
const (
	elfHeaderSize   = 64
	sectionSize     = 64
	segmentSize     = 56
	compressionSize = 24
	symbolSize      = 24
	relaSize        = 24

	// ELFMagic is how a file of 64 bits begins, little-endian.
	ELFMagic       = "\x7fELF\x02\x01"
	machineX86_64  = 62
	machineAArch64 = 183

	segmentLoaded   = 1 // PT_LOAD
	segmentWritable = 2 // PF_W

	// sections: SHT_SYMTAB and so on, then SHF_WRITE and so on
	ofSymbols, ofAddends, ofNotes, ofZeros = 2, 4, 7, 8
	isWritable, isLoaded, isCode, isPacked = 1, 2, 4, 0x800

	packedByZlib = 1 // ELFCOMPRESS_ZLIB

	symbolOfData, symbolOfCode = 1, 2 // STT_OBJECT, STT_FUNC
)

// An elfSection is an entry of the table of sections.
type elfSection struct {
	*Section
	kind  uint32
	flags uint64
	link  uint32
}

// ReadELF is a Reader of ELF executables, those of Linux and of most other systems. It does without
// debug/elf, which would bring a decompressor of 70 KB into each test binary, for a compression
// that Go's linker does not write, and the tables of debug/dwarf.
func ReadELF(r io.ReaderAt, size int64) (*File, error) {
	f := New(r, size)
	h, err := f.bytes(0, elfHeaderSize)
	if err != nil || string(h[:4]) != ELFMagic[:4] {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrNotELF)
	}
	if string(h[4:6]) != ELFMagic[4:] {
		return nil, fmt.Errorf("%w that is supported: only 64-bit little-endian ones are", ErrNotELF)
	}
	machine := le.Uint16(h[18:])
	f.Format, f.Machine, f.GOARCH = "ELF", uint32(machine), Architectures[machine]
	f.Type, f.Entry = uint32(le.Uint16(h[16:])), le.Uint64(h[24:])
	segments, err := f.elfTable(h, 32, 54, segmentSize)
	if err != nil {
		return nil, fmt.Errorf("%w: its table of segments: %w", ErrNotELF, err)
	}
	for ; len(segments) > 0; segments = segments[segmentSize:] {
		if p := segments; le.Uint32(p) == segmentLoaded {
			f.Segments = append(f.Segments, Segment{
				Offset: le.Uint64(p[8:]), FileSize: le.Uint64(p[32:]), Addr: le.Uint64(p[16:]), Size: le.Uint64(p[40:]),
				Writable: le.Uint32(p[4:])&segmentWritable != 0,
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
		all[i] = elfSection{s, le.Uint32(t[4:]), le.Uint64(t[8:]), le.Uint32(t[40:])}
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
	if s.flags&isPacked != 0 {
		h, err := f.bytes(s.Offset, compressionSize)
		if err != nil {
			return err
		}
		kind, size := le.Uint32(h), le.Uint64(h[8:])
		s.Size = size
		s.Decompressed = func() ([]byte, error) {
			if kind != packedByZlib {
				return nil, errors.New("it is not compressed with zlib, as Go's linker does it: link the program without --compress-debug-sections=zstd")
			}
			b, err := f.bytes(s.Offset, s.FileSize)
			if err != nil {
				return nil, err
			}
			return inflate(b[min(compressionSize, len(b)):], size) // of what is damaged, less may be left
		}
	}
	switch s.kind {
	case ofZeros:
		s.Flags |= ZeroFilled
	case ofNotes:
		s.Flags |= ForLoader // notes hold build IDs, whose length may vary
	}
	if s.flags&isLoaded == 0 {
		return nil
	}
	s.Flags |= Loaded
	switch {
	case s.flags&isCode != 0:
		s.Flags |= Executable
	case s.flags&isWritable == 0 || strings.HasPrefix(s.Name, ".data.rel.ro"):
		s.Flags |= ReadOnly
	case HoldsVariables(s.Name):
		s.Flags |= Variables
	}
	return nil
}

// elfSymbols reads the symbol table.
func elfSymbols(f *File, sections []elfSection) ([]Symbol, error) {
	for _, s := range sections {
		if s.kind != ofSymbols {
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
	if len(table)%symbolSize != 0 {
		return nil, errors.New("the symbol table ends within a symbol")
	}
	eachELFSymbol(table[min(len(table), symbolSize):], names, func(s Symbol, section uint16, _ error) {
		if int(section) < len(f.Sections) {
			s.Section = f.Sections[section]
		}
		out = append(out, s)
	})
	return out, nil
}

// eachELFSymbol calls visit for the symbols of a table, with the number of their section, and with
// an error if the name is not there.
func eachELFSymbol(table, names []byte, visit func(s Symbol, section uint16, unnamed error)) {
	for ; len(table) >= symbolSize; table = table[symbolSize:] {
		name, err := elfName(names, le.Uint32(table))
		s := Symbol{Name: name, Kind: elfKind(table[4]), Addr: le.Uint64(table[8:]), Size: le.Uint64(table[16:])}
		visit(s, le.Uint16(table[6:]), err)
	}
}

func elfKind(info byte) Kind {
	switch info & 0xf {
	case symbolOfCode:
		return Function
	case symbolOfData:
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
	eachELFSymbol(table, names, func(s Symbol, section uint16, unnamed error) {
		if unnamed == nil && section != 0 {
			out = append(out, s)
		}
	})
	return out
}

// elfAddend returns the addend of the relocation at an address, 0 if there is none.
// Position-independent programs that the system's linker made have their pointers in addends.
func elfAddend(f *File, sections []elfSection, addr uint64) uint64 {
	for _, s := range sections {
		if s.kind != ofAddends || s.flags&isLoaded == 0 {
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
