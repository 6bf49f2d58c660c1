package anyfile_test

import (
	"bytes"
	"compress/zlib"
	"debug/macho"
	"encoding/binary"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/anyfile"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Sizes of records in a Mach-O file (mach-o/loader.h, mach-o/nlist.h).
const (
	headerSize  = 32
	segmentSize = 72
	sectionSize = 80
	symtabSize  = 24
)

// tinySection is a section of tinyMachO.
type tinySection struct {
	segment, name string
	flags         uint32
	contents      []byte
	size          uint64 // 0: the length of the contents
}

func tinySections(tb testing.TB) []tinySection {
	tb.Helper()
	var packed bytes.Buffer
	packed.WriteString("ZLIB")
	require.NoError(tb, binary.Write(&packed, binary.BigEndian, uint64(500)))
	w := zlib.NewWriter(&packed)
	_, err := w.Write(bytes.Repeat([]byte("plain"), 100))
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	info := append([]byte("\xff Go buildinf:\x08\x02"), make([]byte, 16)...)
	info = append(info, "\x08go1.26.8\x00"...)
	return []tinySection{
		{"__TEXT", "__text", 0x80000400, []byte("\xff Go build ID: \"a/b\"\n \xff\xc3\xc3"), 0},
		{"__DATA_CONST", "__rodata", 0, []byte("constants"), 0},
		{"__DATA", "__go_buildinfo", 0, info, 0},
		{"__DATA", "__data", 0, make([]byte, 64), 0},
		{"__DATA", "__noptrbss", 1, nil, 256},
		{"__DWARF", "__zdebug_info", 0, packed.Bytes(), 0},
	}
}

// tinyMachO is a small executable with code, constants, variables, compressed debug information and
// symbols. Its sections lie at 0x1000 each.
func tinyMachO(tb testing.TB) []byte {
	tb.Helper()
	sections := tinySections(tb)
	names := []byte("\x00_main\x00main.v\x00p..typeAssert.0\x00main.stab\x00")
	symbols := []macho.Nlist64{
		{Name: 1, Type: 0x0e, Sect: 1, Value: 0x1000 + 24},
		{Name: uint32(bytes.Index(names, []byte("main.v"))), Type: 0x0e, Sect: 4, Value: 0x4008},
		{Name: uint32(bytes.Index(names, []byte("p.."))), Type: 0x0e, Sect: 4, Value: 0x4010},
		{Name: uint32(bytes.Index(names, []byte("main.stab"))), Type: 0x24, Sect: 4, Value: 0x4020},
	}
	commands := segmentSize + sectionSize*len(sections)
	at := headerSize + commands + symtabSize
	var out bytes.Buffer
	put := func(v any) { require.NoError(tb, binary.Write(&out, binary.LittleEndian, v)) }
	put(macho.FileHeader{Magic: macho.Magic64, Cpu: macho.CpuArm64, Type: macho.TypeExec, Ncmd: 2, Cmdsz: uint32(commands + symtabSize)})
	put(uint32(0))
	put(macho.Segment64{Cmd: macho.LoadCmdSegment64, Len: uint32(commands), Nsect: uint32(len(sections))})
	for i, s := range sections {
		h := macho.Section64{Addr: uint64(0x1000 * (i + 1)), Size: max(s.size, uint64(len(s.contents))), Offset: uint32(at), Flags: s.flags}
		copy(h.Name[:], s.name)
		copy(h.Seg[:], s.segment)
		at += len(s.contents)
		put(h)
	}
	put(macho.SymtabCmd{Cmd: macho.LoadCmdSymtab, Len: symtabSize, Symoff: uint32(at), Nsyms: uint32(len(symbols)), Stroff: uint32(at + 16*len(symbols)), Strsize: uint32(len(names))})
	for _, s := range sections {
		out.Write(s.contents)
	}
	put(symbols)
	out.Write(names)
	return out.Bytes()
}

func parseMachO(b []byte) (*objfile.File, error) {
	return anyfile.ReadMachO(bytes.NewReader(b), int64(len(b)))
}

func TestTinyMachO(t *testing.T) {
	f, err := parseMachO(tinyMachO(t))
	require.NoError(t, err)
	assert.Equal(t, "arm64", f.GOARCH)
	assert.Equal(t, "a/b", f.BuildID)
	version, err := f.GoVersion()
	require.NoError(t, err)
	assert.Equal(t, "go1.26.8", version)
	debug, err := f.Contents(".debug_info")
	require.NoError(t, err)
	assert.Equal(t, bytes.Repeat([]byte("plain"), 100), debug)
	assert.True(t, f.HasDWARF())
	flags := make(map[string]objfile.Flags)
	for _, s := range f.Sections {
		flags[s.Name] = s.Flags
	}
	assert.Equal(t, map[string]objfile.Flags{
		".text": objfile.Loaded | objfile.Executable, ".data.rel.ro": objfile.Loaded | objfile.ReadOnly, ".go.buildinfo": objfile.Loaded,
		".data": objfile.Loaded | objfile.Variables, ".noptrbss": objfile.Loaded | objfile.Variables | objfile.ZeroFilled, ".debug_info": 0,
	}, flags)
	assert.Equal(t, []byte("const"), f.At(0x2000, 5))
	assert.Nil(t, f.At(0x5000, 1), "zeros are not in the file")
	assert.Nil(t, f.At(0x6000, 1), "debug information is not in memory")
	symbols, err := f.Symbols()
	require.NoError(t, err)
	sizes := make(map[string]uint64)
	for _, s := range symbols {
		sizes[s.Name] = s.Size
	}
	assert.Equal(t, map[string]uint64{"main": 1, "main.v": 8, "p..typeAssert.0": 24}, sizes)
	s, ok := f.SymbolNamed("main")
	require.True(t, ok)
	assert.Equal(t, objfile.Function, s.Kind)
}

func TestDamagedMachO(t *testing.T) {
	le := binary.LittleEndian
	for name, damage := range map[string]func(b []byte) []byte{
		"nothing":       func([]byte) []byte { return nil },
		"half a header": func(b []byte) []byte { return b[:20] },
		"magic":         func(b []byte) []byte { b[0] = 0; return b },
		"32 bits":       func(b []byte) []byte { b[0] = 0xce; return b },
		"commands":      func(b []byte) []byte { le.PutUint32(b[20:], 1<<31); return b },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseMachO(damage(tinyMachO(t)))
			require.ErrorIs(t, err, anyfile.ErrNotMachO)
		})
	}
	last := headerSize + segmentSize + 5*sectionSize // the debug information's header
	for name, damage := range map[string]func(b []byte){
		"beyond the end": func(b []byte) { le.PutUint32(b[last+48:], 1<<30) },
		"too long":       func(b []byte) { le.PutUint64(b[last+40:], 1<<62) },
		"size":           func(b []byte) { b[bytes.Index(b, []byte("ZLIB"))+4] = 0x7f },
	} {
		t.Run(name, func(t *testing.T) {
			b := tinyMachO(t)
			damage(b)
			f, err := parseMachO(b)
			if err != nil {
				require.ErrorIs(t, err, anyfile.ErrNotMachO)
				return
			}
			_, err = f.Contents(".debug_info")
			require.ErrorContains(t, err, "section .debug_info")
		})
	}
}

// FuzzMachO reads arbitrary files. There may be errors, but no panic, and no more memory than the
// contents of a file of that size can need.
func FuzzMachO(f *testing.F) {
	b := tinyMachO(f)
	f.Add(b)
	f.Add(b[:len(b)/2])
	for at := 0; at < headerSize+segmentSize+6*sectionSize+symtabSize; at += 4 {
		damaged := bytes.Clone(b)
		damaged[at] ^= 0x11
		f.Add(damaged)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		x, err := parseMachO(b)
		if err != nil {
			return
		}
		for _, s := range x.Sections {
			_, _ = x.SectionBytes(s)
			x.At(s.Addr, s.Size)
			x.From(s.Addr + 1)
		}
		_, _ = x.Symbols()
		_, _ = x.GoVersion()
	})
}
