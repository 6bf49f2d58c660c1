package objfile_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A part is a section of a file that assemble makes.
type part struct {
	name     string
	kind     elf.SectionType
	flags    elf.SectionFlag
	addr     uint64
	link     uint32
	contents []byte
}

// assemble returns an ELF file with sections, numbered from 1. Their names come last.
func assemble(parts ...part) []byte {
	le := binary.LittleEndian
	names := []byte{0}
	parts = append(append([]part{{}}, parts...), part{name: ".shstrtab", kind: elf.SHT_STRTAB})
	b := make([]byte, headerSize+len(parts)*sectionSize)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[18:], uint16(elf.EM_AARCH64))
	le.PutUint64(b[40:], headerSize)
	le.PutUint16(b[58:], sectionSize)
	le.PutUint16(b[60:], uint16(len(parts)))
	le.PutUint16(b[62:], uint16(len(parts)-1))
	for i, p := range parts {
		h := b[headerSize+i*sectionSize:]
		le.PutUint32(h, uint32(len(names)))
		names = append(append(names, p.name...), 0)
		if i == len(parts)-1 {
			p.contents = names
		}
		le.PutUint32(h[4:], uint32(p.kind))
		le.PutUint64(h[8:], uint64(p.flags))
		le.PutUint64(h[16:], p.addr)
		le.PutUint64(h[24:], uint64(len(b)))
		le.PutUint64(h[32:], uint64(len(p.contents)))
		le.PutUint32(h[40:], p.link)
		b = append(b, p.contents...)
	}
	return b
}

// dynamicSymbol is an entry of the table of symbols that other files may refer to.
func dynamicSymbol(name uint32, kind elf.SymType, section uint16, addr, size uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, name)
	b = append(b, byte(elf.STB_GLOBAL)<<4|byte(kind), 0)
	b = binary.LittleEndian.AppendUint16(b, section)
	b = binary.LittleEndian.AppendUint64(b, addr)
	return binary.LittleEndian.AppendUint64(b, size)
}

// The symbols that other files may refer to are those that the file defines.
func TestExports(t *testing.T) {
	symbols := bytes.Join([][]byte{
		make([]byte, symbolSize),
		dynamicSymbol(1, elf.STT_FUNC, 3, 0x1000, 7),
		dynamicSymbol(8, elf.STT_FUNC, 0, 0, 0), // of another file
		dynamicSymbol(99, elf.STT_FUNC, 3, 0x1010, 7),
		dynamicSymbol(13, elf.STT_OBJECT, 3, 0x2000, 8),
		dynamicSymbol(13, elf.STT_NOTYPE, 3, 0x2008, 0),
		make([]byte, 5),
	}, nil)
	names := part{name: ".dynstr", kind: elf.SHT_STRTAB, contents: []byte("\x00malloc\x00free\x00environ\x00")}
	f, err := parse(assemble(part{name: ".dynsym", kind: elf.SHT_DYNSYM, contents: symbols}, names))
	require.NoError(t, err)
	assert.Equal(t, "arm64", f.GOARCH)
	assert.Equal(t, []objfile.Symbol{
		{Name: "malloc", Addr: 0x1000, Size: 7, Kind: objfile.Function},
		{Name: "environ", Addr: 0x2000, Size: 8, Kind: objfile.Object},
		{Name: "environ", Addr: 0x2008},
	}, f.Exports())

	for _, lacks := range [][]part{nil, {names}, {{name: ".dynsym", kind: elf.SHT_DYNSYM, contents: symbols}}} {
		f, err = parse(assemble(lacks...))
		require.NoError(t, err)
		assert.Empty(t, f.Exports())
	}
}

// The loader writes the addends of relocations, in the tables that are loaded.
func TestRelocated(t *testing.T) {
	relocation := func(addr, addend uint64) []byte {
		b := binary.LittleEndian.AppendUint64(nil, addr)
		b = binary.LittleEndian.AppendUint64(b, uint64(elf.R_X86_64_RELATIVE))
		return binary.LittleEndian.AppendUint64(b, addend)
	}
	f, err := parse(assemble(
		part{name: ".rela.debug_info", kind: elf.SHT_RELA, contents: relocation(0x1000, 1)},
		part{name: ".other", kind: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC, contents: relocation(0x1000, 2)},
		part{name: ".rela.dyn", kind: elf.SHT_RELA, flags: elf.SHF_ALLOC, contents: append(relocation(0x1000, 3), relocation(0x1008, 4)...)},
		part{name: ".rela.plt", kind: elf.SHT_RELA, flags: elf.SHF_ALLOC, contents: relocation(0x1010, 5)},
	))
	require.NoError(t, err)
	for addr, want := range map[uint64]uint64{0x1000: 3, 0x1008: 4, 0x1010: 5, 0x1018: 0, 3: 0} {
		assert.Equal(t, want, f.Relocated(addr), addr)
	}
}

// What a section holds is told by its kind, its flags and its name.
func TestSectionFlags(t *testing.T) {
	const loads = elf.SHF_ALLOC
	for _, c := range []struct {
		part
		want objfile.Flags
	}{
		{part{name: ".text", kind: elf.SHT_PROGBITS, flags: loads | elf.SHF_EXECINSTR}, objfile.Loaded | objfile.Executable},
		{part{name: ".rodata", kind: elf.SHT_PROGBITS, flags: loads}, objfile.Loaded | objfile.ReadOnly},
		{part{name: ".data.rel.ro", kind: elf.SHT_PROGBITS, flags: loads | elf.SHF_WRITE}, objfile.Loaded | objfile.ReadOnly},
		{part{name: ".data", kind: elf.SHT_PROGBITS, flags: loads | elf.SHF_WRITE}, objfile.Loaded | objfile.Variables},
		{part{name: ".noptrbss", kind: elf.SHT_NOBITS, flags: loads | elf.SHF_WRITE}, objfile.Loaded | objfile.Variables | objfile.ZeroFilled},
		{part{name: ".got", kind: elf.SHT_PROGBITS, flags: loads | elf.SHF_WRITE}, objfile.Loaded},
		{part{name: ".note.go.buildid", kind: elf.SHT_NOTE, flags: loads}, objfile.Loaded | objfile.ReadOnly | objfile.ForLoader},
		{part{name: ".data", kind: elf.SHT_PROGBITS}, 0},
	} {
		f, err := parse(assemble(c.part))
		require.NoError(t, err)
		assert.Equal(t, c.want, f.Sections[1].Flags, c.name)
	}
}

// The build ID is that of the note that cmd/link writes, wherever it lies among other notes; a file
// without one has the hash of its contents.
func TestBuildIDOfNotes(t *testing.T) {
	note := func(name string, kind uint32, data string) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(name)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
		b = binary.LittleEndian.AppendUint32(b, kind)
		b = append(b, name...)
		b = append(b, make([]byte, -len(name)&3)...)
		b = append(b, data...)
		return append(b, make([]byte, -len(data)&3)...)
	}
	goNote := note("Go\x00\x00", 4, "a/b/c")
	for name, c := range map[string]struct {
		parts []part
		want  string // "": a hash
	}{
		"alone":       {[]part{{name: ".note.go.buildid", kind: elf.SHT_NOTE, contents: goNote}}, "a/b/c"},
		"no kind":     {[]part{{name: ".note.go.buildid", kind: elf.SHT_PROGBITS, contents: goNote}}, "a/b/c"},
		"with others": {[]part{{name: ".note.gnu", kind: elf.SHT_NOTE, contents: append(note("GNU\x00", 3, "odd"), goNote...)}}, "a/b/c"},
		"second":      {[]part{{name: ".note.gnu", kind: elf.SHT_NOTE, contents: note("GNU\x00", 4, "x")}, {name: ".note", kind: elf.SHT_NOTE, contents: goNote}}, "a/b/c"},
		"cut off":     {[]part{{name: ".note", kind: elf.SHT_NOTE, contents: goNote[:18]}}, ""},
		"other kind":  {[]part{{name: ".note", kind: elf.SHT_NOTE, contents: note("Go\x00\x00", 3, "a/b/c")}}, ""},
		"not a note":  {[]part{{name: ".data", kind: elf.SHT_PROGBITS, contents: goNote}}, ""},
		"none":        {nil, ""},
	} {
		f, err := parse(assemble(c.parts...))
		require.NoError(t, err)
		want := c.want
		if want == "" {
			want = f.Hash()
		}
		assert.Equal(t, want, f.BuildID, name)
	}
}
