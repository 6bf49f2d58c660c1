package debuginfo

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/leakgate/leakgate/internal/fmterr"
)

// What is needed of the ELF format, 64-bit little-endian (System V ABI, chapters 4 and 5). debug/elf can do it, but adds
// 260 kB to a stripped program (go1.26.8), much of it for zstd, which the linker of Go never writes.
const (
	elfMagic  = "\x7fELF\x02\x01\x01" // 64 bits, little-endian, version 1
	elfHeader = 64                    // sizes of records in the file
	elfShdr   = 64
	elfPhdr   = 56
	elfSym    = 24
	elfChdr   = 24
	elfRela   = 24

	machineAMD64 = 62  // EM_X86_64
	machineARM64 = 183 // EM_AARCH64

	segmentLoad = 1 // PT_LOAD
	segmentNote = 4 // PT_NOTE

	sectionSymtab = 2 // SHT_SYMTAB
	sectionRela   = 4 // SHT_RELA
	sectionNote   = 7 // SHT_NOTE
	sectionNoBits = 8 // SHT_NOBITS

	flagWrite      = 1 << 0  // SHF_WRITE
	flagAlloc      = 1 << 1  // SHF_ALLOC
	flagExec       = 1 << 2  // SHF_EXECINSTR
	flagCompressed = 1 << 11 // SHF_COMPRESSED

	compressZlib = 1 // ELFCOMPRESS_ZLIB

	symbolObject = 1 // STT_OBJECT
	symbolFunc   = 2 // STT_FUNC
)

// elfSection is a section's header. Neither its place in the file nor its place in memory is checked.
type elfSection struct {
	Name   string
	Type   uint32
	Link   uint32
	Flags  uint64
	Addr   uint64
	Offset uint64
	Size   uint64 // in memory and, unless it is sectionNoBits, in the file
}

// elfSegment is a program header, as unchecked.
type elfSegment struct {
	Type   uint32
	Off    uint64
	Vaddr  uint64
	Filesz uint64
}

// elfSymbol is an entry of the symbol table. Section need not exist: some values stand for "none".
type elfSymbol struct {
	Name    string
	Kind    byte
	Section int
	Value   uint64
	Size    uint64
}

var (
	errNotELF    = errors.New("not an ELF executable")
	errNoSymbols = errors.New("no symbols")
)

// parseELF reads the headers. Every offset and count is checked against the bytes there are, so damaged files give errors.
func parseELF(data []byte) (*elfFile, error) {
	if len(data) < elfHeader || string(data[:4]) != elfMagic[:4] {
		return nil, errNotELF
	}
	if string(data[:len(elfMagic)]) != elfMagic {
		return nil, fmterr.Errorf("%w that is supported: only 64-bit little-endian ones are", errNotELF)
	}
	le := binary.LittleEndian
	f := &elfFile{
		Type:    le.Uint16(data[16:]),
		Machine: le.Uint16(data[18:]),
		data:    data,
		unmap:   func() error { return nil },
	}
	segments, err := f.table("program", le.Uint64(data[32:]), le.Uint16(data[54:]), le.Uint16(data[56:]), elfPhdr)
	if err != nil {
		return nil, err
	}
	for ; len(segments) > 0; segments = segments[elfPhdr:] {
		f.Segments = append(f.Segments, elfSegment{
			Type:   le.Uint32(segments),
			Off:    le.Uint64(segments[8:]),
			Vaddr:  le.Uint64(segments[16:]),
			Filesz: le.Uint64(segments[32:]),
		})
	}
	sections, err := f.table("section", le.Uint64(data[40:]), le.Uint16(data[58:]), le.Uint16(data[60:]), elfShdr)
	if err != nil {
		return nil, err
	}
	f.Sections = make([]elfSection, len(sections)/elfShdr)
	for i := range f.Sections {
		b := sections[i*elfShdr:]
		f.Sections[i] = elfSection{
			Type:   le.Uint32(b[4:]),
			Flags:  le.Uint64(b[8:]),
			Addr:   le.Uint64(b[16:]),
			Offset: le.Uint64(b[24:]),
			Size:   le.Uint64(b[32:]),
			Link:   le.Uint32(b[40:]),
		}
	}
	return f, f.nameSections(sections, int(le.Uint16(data[62:])))
}

// table returns the bytes of a table of headers.
func (f *elfFile) table(what string, off uint64, size, count uint16, want int) ([]byte, error) {
	n := uint64(count) * uint64(want)
	if count == 0 {
		return nil, nil
	}
	if int(size) != want || off > uint64(len(f.data)) || n > uint64(len(f.data))-off {
		return nil, fmterr.Errorf("%w: its %s headers are damaged", errNotELF, what)
	}
	return f.data[off : off+n], nil
}

func (f *elfFile) nameSections(headers []byte, names int) error {
	if len(f.Sections) == 0 || names == 0 {
		return nil // 0 says that there are no names
	}
	if names >= len(f.Sections) {
		return fmterr.Errorf("%w: its sections have no names", errNotELF)
	}
	table, err := f.bytes(&f.Sections[names])
	if err != nil {
		return fmterr.Errorf("%w: names of sections: %w", errNotELF, err)
	}
	for i := range f.Sections {
		name, ok := stringAt(table, binary.LittleEndian.Uint32(headers[i*elfShdr:]))
		if !ok {
			return fmterr.Errorf("%w: section %d has no name", errNotELF, i)
		}
		f.Sections[i].Name = string(name)
	}
	return nil
}

// stringAt returns a string, which a zero byte ends, of a string table.
func stringAt(table []byte, off uint32) ([]byte, bool) {
	if uint64(off) >= uint64(len(table)) {
		return nil, false
	}
	n := bytes.IndexByte(table[off:], 0)
	if n < 0 {
		return nil, false
	}
	return table[off:][:n], true
}

// Section returns the first section of that name, nil if there is none.
func (f *elfFile) Section(name string) *elfSection {
	for i := range f.Sections {
		if f.Sections[i].Name == name {
			return &f.Sections[i]
		}
	}
	return nil
}
