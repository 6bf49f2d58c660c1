package debuginfo

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// judgeELF compares what this package reads of a file with what debug/elf reads.
func judgeELF(tb testing.TB, f *elfFile, want *elf.File) {
	tb.Helper()
	require.Equal(tb, uint16(want.Type), f.Type)
	require.Equal(tb, uint16(want.Machine), f.Machine)
	require.Len(tb, f.Segments, len(want.Progs))
	for i, p := range want.Progs {
		require.Equal(tb, elfSegment{Type: uint32(p.Type), Off: p.Off, Vaddr: p.Vaddr, Filesz: p.Filesz}, f.Segments[i])
	}
	require.Len(tb, f.Sections, len(want.Sections))
	for i, s := range want.Sections {
		got := f.Sections[i]
		got.Flags = uint64(uint32(got.Flags)) // debug/elf has no more of them
		require.Equal(tb, elfSection{
			Name: s.Name, Type: uint32(s.Type), Link: s.Link, Flags: uint64(s.Flags), Addr: s.Addr, Offset: s.Offset, Size: s.FileSize,
		}, got)
		if s.Type == elf.SHT_NOBITS {
			continue
		}
		b, err := f.bytes(&f.Sections[i])
		data, wantErr := s.Data()
		if err != nil || wantErr != nil {
			// This package also checks the checksum of a compressed section and that nothing follows its size.
			require.Error(tb, err, "debug/elf says %v", wantErr)
			continue
		}
		require.True(tb, bytes.Equal(data, b), "section %s", s.Name)
	}
	got, err := f.Symbols()
	symbols, wantErr := want.Symbols()
	if err != nil || wantErr != nil {
		require.Equal(tb, wantErr != nil, err != nil, "%v, and debug/elf says %v", err, wantErr)
		return
	}
	require.Len(tb, got, len(symbols))
	for i, s := range symbols {
		require.Equal(tb, elfSymbol{
			Name: s.Name, Kind: byte(elf.ST_TYPE(s.Info)), Section: int(s.Section), Value: s.Value, Size: s.Size,
		}, got[i])
	}
}

func TestELF(t *testing.T) {
	modes := [][]string{nil, {"-ldflags=-s -w"}, {"-ldflags=-compressdwarf=false"}}
	if long() {
		modes = append(modes, []string{"-race"}, []string{"-buildmode=pie"}, []string{"-ldflags=-linkmode=external"},
			[]string{"GOARCH=arm64"}, []string{"GOTOOLCHAIN=go1.27.3"})
	}
	self, err := os.Executable()
	require.NoError(t, err)
	paths := []string{self}
	for _, flags := range modes {
		paths = append(paths, buildProg(t, flags...))
	}
	for _, path := range paths {
		f, err := openELF(path)
		require.NoError(t, err)
		want, err := elf.Open(path)
		require.NoError(t, err)
		judgeELF(t, f, want)
		require.NotNil(t, f.Section(".text"))
		require.Nil(t, f.Section(".missing"))
		require.NoError(t, want.Close())
		require.NoError(t, f.Close())
	}
}

// Sections of tinyELF, and the offset of a field of one's header.
const (
	tinyData = 1 + iota
	tinyCompressed
	tinySymtab
	tinyStrtab
	tinyNames
	tinyCount
)

func tinyHeader(section, field int) int { return elfHeader + elfPhdr + section*elfShdr + field }

// tinyELF is a small executable with one of each: plain and compressed contents, symbols, a segment.
func tinyELF(tb testing.TB) []byte {
	tb.Helper()
	le := binary.LittleEndian
	names := []byte("\x00.data\x00.debug_info\x00.symtab\x00.strtab\x00.shstrtab\x00")
	packed := bytes.NewBuffer(make([]byte, elfChdr))
	w := zlib.NewWriter(packed)
	_, err := w.Write(bytes.Repeat([]byte("plain"), 100))
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	le.PutUint32(packed.Bytes(), compressZlib)
	le.PutUint64(packed.Bytes()[8:], 500)
	symbols := make([]byte, 3*elfSym)
	le.PutUint32(symbols[elfSym:], 1)
	symbols[elfSym+4] = symbolFunc
	le.PutUint16(symbols[elfSym+6:], tinyData)
	le.PutUint64(symbols[elfSym+8:], 0x1000)
	le.PutUint64(symbols[elfSym+16:], 7)
	le.PutUint32(symbols[2*elfSym:], 6)
	symbols[2*elfSym+4] = 1<<4 | symbolObject
	le.PutUint16(symbols[2*elfSym+6:], 0xfff1)

	b := make([]byte, tinyHeader(tinyCount, 0))
	copy(b, elfMagic)
	le.PutUint16(b[16:], 2)
	le.PutUint16(b[18:], machineAMD64)
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], elfHeader)
	le.PutUint64(b[40:], elfHeader+elfPhdr)
	for i, v := range []uint16{elfHeader, elfPhdr, 1, elfShdr, tinyCount, tinyNames} {
		le.PutUint16(b[52+2*i:], v)
	}
	le.PutUint32(b[elfHeader:], segmentLoad)
	le.PutUint64(b[elfHeader+8:], uint64(len(b)))
	le.PutUint64(b[elfHeader+16:], 0x1000)
	le.PutUint64(b[elfHeader+32:], 8)
	for i, s := range [tinyCount]struct {
		name     string
		kind     uint32
		flags    uint64
		link     uint32
		contents []byte
	}{
		tinyData:       {name: ".data", kind: 1, flags: flagAlloc | flagWrite, contents: []byte("contents")},
		tinyCompressed: {name: ".debug_info", kind: 1, flags: flagCompressed, contents: packed.Bytes()},
		tinySymtab:     {name: ".symtab", kind: sectionSymtab, link: tinyStrtab, contents: symbols},
		tinyStrtab:     {name: ".strtab", kind: 3, contents: []byte("\x00main\x00data\x00")},
		tinyNames:      {name: ".shstrtab", kind: 3, contents: names},
	} {
		le.PutUint32(b[tinyHeader(i, 0):], uint32(bytes.Index(names, append([]byte(s.name), 0))))
		le.PutUint32(b[tinyHeader(i, 4):], s.kind)
		le.PutUint64(b[tinyHeader(i, 8):], s.flags)
		le.PutUint64(b[tinyHeader(i, 24):], uint64(len(b)))
		le.PutUint64(b[tinyHeader(i, 32):], uint64(len(s.contents)))
		le.PutUint32(b[tinyHeader(i, 40):], s.link)
		b = append(b, s.contents...)
	}
	return b
}

func TestTinyELF(t *testing.T) {
	b := tinyELF(t)
	f, err := parseELF(b)
	require.NoError(t, err)
	want, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	judgeELF(t, f, want)
	data, err := f.contents(".debug_info")
	require.NoError(t, err)
	assert.Equal(t, bytes.Repeat([]byte("plain"), 100), data)
	assert.Equal(t, []byte("content"), f.at(0x1000, 7))
	assert.Nil(t, f.at(0x1000, 9))
	symbols, err := f.Symbols()
	require.NoError(t, err)
	assert.Equal(t, []elfSymbol{
		{Name: "main", Kind: symbolFunc, Section: tinyData, Value: 0x1000, Size: 7}, {Name: "data", Kind: symbolObject, Section: 0xfff1},
	}, symbols)
}

func TestDamagedELF(t *testing.T) {
	le := binary.LittleEndian
	headers := map[string]struct {
		damage func(b []byte) []byte
		want   string
	}{
		"empty":              {func([]byte) []byte { return nil }, "not an ELF executable"},
		"short":              {func(b []byte) []byte { return b[:elfHeader-1] }, "not an ELF executable"},
		"magic":              {func(b []byte) []byte { b[0] = 0; return b }, "not an ELF executable"},
		"32 bits":            {func(b []byte) []byte { b[4] = 1; return b }, "only 64-bit little-endian"},
		"big-endian":         {func(b []byte) []byte { b[5] = 2; return b }, "only 64-bit little-endian"},
		"segments elsewhere": {func(b []byte) []byte { le.PutUint64(b[32:], math.MaxUint64); return b }, "program headers are damaged"},
		"sections elsewhere": {func(b []byte) []byte { le.PutUint64(b[40:], uint64(len(b)-1)); return b }, "section headers are damaged"},
		"size of a header":   {func(b []byte) []byte { b[58]--; return b }, "section headers are damaged"},
		"too many":           {func(b []byte) []byte { le.PutUint16(b[60:], math.MaxUint16); return b }, "section headers are damaged"},
		"no section of names": {
			func(b []byte) []byte { le.PutUint16(b[62:], math.MaxUint16); return b }, "sections have no names",
		},
		"names elsewhere": {func(b []byte) []byte { b[tinyHeader(tinyNames, 31)] = 0xff; return b }, "lies beyond the end"},
		"no name":         {func(b []byte) []byte { b[tinyHeader(tinyData, 3)] = 1; return b }, "section 1 has no name"},
		"endless name":    {func(b []byte) []byte { b[tinyHeader(tinyNames, 32)]--; return b }, "section 5 has no name"},
	}
	for name, c := range headers {
		t.Run(name, func(t *testing.T) {
			_, err := parseELF(c.damage(tinyELF(t)))
			require.ErrorIs(t, err, errNotELF)
			require.ErrorContains(t, err, c.want)
		})
	}
	offset := int(le.Uint64(tinyELF(t)[tinyHeader(tinyCompressed, 24):])) // of the compressed section
	contents := map[string]struct {
		damage func(b []byte)
		want   string
	}{
		"beyond the end":        {func(b []byte) { b[tinyHeader(tinyCompressed, 39)] = 0x80 }, "section .debug_info lies beyond the end"},
		"no compression header": {func(b []byte) { le.PutUint64(b[tinyHeader(tinyCompressed, 32):], elfChdr-1) }, "no compression header"},
		"zstd":                  {func(b []byte) { b[offset] = 2 }, "compressed by method 2, only zlib (1) is supported"},
		"shorter":               {func(b []byte) { le.PutUint64(b[offset+8:], 499) }, "does not decompress to 499 bytes"},
		"longer":                {func(b []byte) { le.PutUint64(b[offset+8:], 501) }, "does not decompress to 501 bytes"},
		"far longer":            {func(b []byte) { le.PutUint64(b[offset+8:], math.MaxUint64) }, "does not decompress to"},
		"zlib header":           {func(b []byte) { b[offset+elfChdr] = 0 }, "does not decompress to"},
		"checksum":              {func(b []byte) { b[tinyChecksum(b)] ^= 1 }, "does not decompress to 500 bytes"},
		"truncated":             {func(b []byte) { b[tinyHeader(tinyCompressed, 32)] -= 6 }, "does not decompress to 500 bytes"},
	}
	for name, c := range contents {
		t.Run(name, func(t *testing.T) {
			b := tinyELF(t)
			c.damage(b)
			f, err := parseELF(b)
			require.NoError(t, err)
			_, err = f.contents(".debug_info")
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "section .debug_info")
			_, err = readUnits(f)
			require.ErrorContains(t, err, c.want)
		})
	}
	symbols := map[string]func(b []byte){
		"none":             func(b []byte) { b[tinyHeader(tinySymtab, 4)] = 0 },
		"empty":            func(b []byte) { b[tinyHeader(tinySymtab, 32)] = 0 },
		"part of a symbol": func(b []byte) { b[tinyHeader(tinySymtab, 32)]-- },
		"beyond the end":   func(b []byte) { b[tinyHeader(tinySymtab, 31)] = 0x80 },
		"no names":         func(b []byte) { b[tinyHeader(tinySymtab, 40)] = 0 },
		"other names":      func(b []byte) { b[tinyHeader(tinySymtab, 43)] = 0xff },
		"names elsewhere":  func(b []byte) { b[tinyHeader(tinyStrtab, 31)] = 0x80 },
	}
	for name, damage := range symbols {
		t.Run("symbols: "+name, func(t *testing.T) {
			b := tinyELF(t)
			damage(b)
			f, err := parseELF(b)
			require.NoError(t, err)
			_, err = f.Symbols()
			require.Error(t, err)
		})
	}
}

// tinyChecksum is the offset of the last byte of tinyELF's zlib stream.
func tinyChecksum(b []byte) int {
	h := tinyHeader(tinyCompressed, 0)
	return int(binary.LittleEndian.Uint64(b[h+24:])+binary.LittleEndian.Uint64(b[h+32:])) - 1
}

// FuzzELF reads arbitrary files, and has debug/elf judge those that both can read.
func FuzzELF(f *testing.F) {
	b := tinyELF(f)
	f.Add(b)
	f.Add(b[:len(b)/2])
	for section := range tinyCount {
		for _, field := range []int{0, 4, 8, 24, 32, 40} {
			damaged := bytes.Clone(b)
			damaged[tinyHeader(section, field)] ^= 0x11
			f.Add(damaged)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseELF(b)
		if err != nil {
			return
		}
		for i := range got.Sections {
			_, _ = got.bytes(&got.Sections[i])
		}
		for i := range got.Segments {
			got.at(got.Segments[i].Vaddr, got.Segments[i].Filesz)
		}
		_, _ = got.Symbols()
		got.buildID()
		_, _ = got.goVersion()
		want, err := elf.NewFile(bytes.NewReader(b))
		if err != nil || len(got.Sections) == 0 && len(want.Sections) > 0 {
			return // a damaged compression header, or the number of sections is where only files with 65280 of them have it
		}
		for i := range got.Sections {
			if got.Sections[i].Flags&flagCompressed != 0 && got.Sections[i].Type != sectionNoBits {
				// debug/elf takes a stream that is longer than it says, or has the wrong checksum; it also knows zstd. It
				// refuses what is compressed and loaded, which no linker writes.
				if _, err := got.bytes(&got.Sections[i]); err != nil || got.Sections[i].Flags&flagAlloc != 0 {
					return
				}
			}
		}
		judgeELF(t, got, want)
	})
}
