package anyfile_test

import (
	"bytes"
	"compress/zlib"
	"debug/pe"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/anyfile"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const (
	base      = 0x140000000
	headerAt  = 0x40 // of the PE header
	sectionAt = headerAt + 4 + 20 + 240
	sectionOf = 40 // size of a section's header
)

// Sections of tinyPE, at 0x1000 each.
const (
	tinyText = iota
	tinyData
	tinyDebug
	tinyImports
	tinyCount
)

// tinyPE is a small executable with code, variables, compressed debug information and symbols.
func tinyPE(tb testing.TB) []byte {
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
	data := append(append(make([]byte, 16), info...), make([]byte, 22)...) // 80 bytes
	contents := [tinyCount][]byte{[]byte("\xff Go build ID: \"a/b\"\n \xff\xc3\xc3"), data, packed.Bytes(), []byte("imports")}
	strs := []byte("\x00\x00\x00\x00.zdebug_info\x00p..typeAssert.0\x00")
	binary.LittleEndian.PutUint32(strs, uint32(len(strs)))

	var out bytes.Buffer
	put := func(v any) { require.NoError(tb, binary.Write(&out, binary.LittleEndian, v)) }
	out.WriteString("MZ" + strings.Repeat("\x00", headerAt-6) + "\x40\x00\x00\x00PE\x00\x00")
	at := uint32(sectionAt + tinyCount*sectionOf)
	end := at
	for _, c := range contents {
		end += uint32(len(c))
	}
	put(pe.FileHeader{Machine: pe.IMAGE_FILE_MACHINE_AMD64, NumberOfSections: tinyCount, PointerToSymbolTable: end, NumberOfSymbols: 4, SizeOfOptionalHeader: 240, Characteristics: pe.IMAGE_FILE_EXECUTABLE_IMAGE})
	put(pe.OptionalHeader64{Magic: 0x20b, ImageBase: base, NumberOfRvaAndSizes: 16})
	for i, name := range []string{".text", ".data", "/4", ".idata"} {
		h := pe.SectionHeader32{VirtualSize: uint32(len(contents[i])), VirtualAddress: uint32(0x1000 * (i + 1)), SizeOfRawData: uint32(len(contents[i])), PointerToRawData: at}
		copy(h.Name[:], name)
		h.Characteristics = [...]uint32{pe.IMAGE_SCN_MEM_EXECUTE, pe.IMAGE_SCN_MEM_WRITE, pe.IMAGE_SCN_MEM_DISCARDABLE, pe.IMAGE_SCN_MEM_WRITE}[i]
		if i == tinyData {
			h.VirtualSize += 0x100 // zeros
		}
		at += uint32(len(contents[i]))
		put(h)
	}
	for _, c := range contents {
		out.Write(c)
	}
	for _, s := range []struct {
		name    string
		value   uint32
		section int16
		kind    uint16
	}{{"f", 24, 1, 0x20}, {"v", 8, 2, 0}, {"", 16, 2, 0}, {"end", 0x150, 2, 0}} {
		symbol := pe.COFFSymbol{Value: s.value, SectionNumber: s.section, Type: s.kind}
		copy(symbol.Name[:], s.name)
		if s.name == "" {
			binary.LittleEndian.PutUint32(symbol.Name[4:], uint32(bytes.Index(strs, []byte("p.."))))
		}
		put(symbol)
	}
	out.Write(strs)
	return out.Bytes()
}

func parsePE(b []byte) (*objfile.File, error) {
	return anyfile.ReadPE(bytes.NewReader(b), int64(len(b)))
}

func TestTinyPE(t *testing.T) {
	f, err := parsePE(tinyPE(t))
	require.NoError(t, err)
	assert.Equal(t, "amd64", f.GOARCH)
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
		".text": objfile.Loaded | objfile.Executable, ".data": objfile.Loaded | objfile.Variables, ".debug_info": 0,
		".idata": objfile.Loaded | objfile.ForLoader,
	}, flags)
	assert.Equal(t, []byte("\xff Go"), f.At(base+0x2010, 4))
	assert.Nil(t, f.At(base+0x2060, 1), "zeros are not in the file")
	assert.Nil(t, f.At(base+0x3000, 1), "debug information is not in memory")
	symbols, err := f.Symbols()
	require.NoError(t, err)
	sizes := make(map[string]uint64)
	for _, s := range symbols {
		sizes[s.Name] = s.Size
	}
	assert.Equal(t, map[string]uint64{"f": 1, "v": 8, "p..typeAssert.0": 24, "end": 0}, sizes)
	s, ok := f.SymbolNamed("v")
	require.True(t, ok)
	assert.Equal(t, uint64(base+0x2008), s.Addr)
	assert.Equal(t, objfile.Object, s.Kind)
}

func TestDamagedPE(t *testing.T) {
	le := binary.LittleEndian
	for name, damage := range map[string]func(b []byte) []byte{
		"nothing":       func([]byte) []byte { return nil },
		"half a header": func(b []byte) []byte { return b[:headerAt+10] },
		"magic":         func(b []byte) []byte { b[headerAt] = 0; return b },
		"32 bits":       func(b []byte) []byte { le.PutUint16(b[headerAt+24:], 0x10b); return b },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsePE(damage(tinyPE(t)))
			require.ErrorIs(t, err, anyfile.ErrNotPE)
		})
	}
	header := func(b []byte, section int) []byte { return b[sectionAt+section*sectionOf:] }
	for name, damage := range map[string]func(b []byte){
		"beyond the end": func(b []byte) { le.PutUint32(header(b, tinyDebug)[20:], 1<<30) },
		"too long": func(b []byte) {
			le.PutUint32(header(b, tinyDebug)[8:], 1<<30)
			le.PutUint32(header(b, tinyDebug)[16:], 1<<30)
		},
		"size":    func(b []byte) { b[bytes.Index(b, []byte("ZLIB"))+4] = 0x7f },
		"short":   func(b []byte) { b[bytes.Index(b, []byte("ZLIB"))+11]++ },
		"stream":  func(b []byte) { b[bytes.Index(b, []byte("ZLIB"))+13] ^= 0xff },
		"no mark": func(b []byte) { b[bytes.Index(b, []byte("ZLIB"))] = 'z' },
	} {
		t.Run(name, func(t *testing.T) {
			b := tinyPE(t)
			damage(b)
			f, err := parsePE(b)
			require.NoError(t, err)
			_, err = f.Contents(".debug_info")
			require.ErrorContains(t, err, "section .debug_info")
		})
	}
}

// FuzzPE reads arbitrary files. There may be errors, but no panic, and no more memory than the
// contents of a file of that size can need.
func FuzzPE(f *testing.F) {
	b := tinyPE(f)
	f.Add(b)
	f.Add(b[:len(b)/2])
	for at := headerAt; at < sectionAt+tinyCount*sectionOf; at += 4 {
		damaged := bytes.Clone(b)
		damaged[at] ^= 0x11
		f.Add(damaged)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		x, err := parsePE(b)
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
