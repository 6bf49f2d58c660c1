package objfile_test

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Sizes of records in an ELF file (System V ABI, chapters 4 and 5).
const (
	headerSize      = 64
	segmentSize     = 56
	sectionSize     = 64
	symbolSize      = 24
	compressionSize = 24
)

// Sections of tinyELF. tinyHeader returns the offset in the file of a field of a section's header.
const (
	tinyData = 1 + iota
	tinyCompressed
	tinySymtab
	tinyStrtab
	tinyNames
	tinyCount
)

func tinyHeader(section, field int) int {
	return headerSize + segmentSize + section*sectionSize + field
}

// tinyELF is a small executable with plain contents, compressed contents, symbols and a segment.
func tinyELF(tb testing.TB) []byte {
	tb.Helper()
	le := binary.LittleEndian
	names := []byte("\x00.data\x00.debug_info\x00.symtab\x00.strtab\x00.shstrtab\x00")
	packed := bytes.NewBuffer(make([]byte, compressionSize))
	w := zlib.NewWriter(packed)
	_, err := w.Write(bytes.Repeat([]byte("plain"), 100))
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	le.PutUint32(packed.Bytes(), uint32(elf.COMPRESS_ZLIB))
	le.PutUint64(packed.Bytes()[8:], 500)
	symbols := make([]byte, 3*symbolSize)
	le.PutUint32(symbols[symbolSize:], 1)
	symbols[symbolSize+4] = byte(elf.STT_FUNC)
	le.PutUint16(symbols[symbolSize+6:], tinyData)
	le.PutUint64(symbols[symbolSize+8:], 0x1000)
	le.PutUint64(symbols[symbolSize+16:], 7)
	le.PutUint32(symbols[2*symbolSize:], 6)
	symbols[2*symbolSize+4] = 1<<4 | byte(elf.STT_OBJECT)
	le.PutUint16(symbols[2*symbolSize+6:], 0xfff1)

	b := make([]byte, tinyHeader(tinyCount, 0))
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], 2)
	le.PutUint16(b[18:], uint16(elf.EM_X86_64))
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], headerSize)
	le.PutUint64(b[40:], headerSize+segmentSize)
	for i, v := range []uint16{headerSize, segmentSize, 1, sectionSize, tinyCount, tinyNames} {
		le.PutUint16(b[52+2*i:], v)
	}
	le.PutUint32(b[headerSize:], uint32(elf.PT_LOAD))
	le.PutUint64(b[headerSize+8:], uint64(len(b)))
	le.PutUint64(b[headerSize+16:], 0x1000)
	le.PutUint64(b[headerSize+32:], 8)
	for i, s := range [tinyCount]struct {
		name     string
		kind     uint32
		flags    uint64
		link     uint32
		contents []byte
	}{
		tinyData:       {name: ".data", kind: 1, flags: uint64(elf.SHF_ALLOC | elf.SHF_WRITE), contents: []byte("contents")},
		tinyCompressed: {name: ".debug_info", kind: 1, flags: uint64(elf.SHF_COMPRESSED), contents: packed.Bytes()},
		tinySymtab:     {name: ".symtab", kind: uint32(elf.SHT_SYMTAB), link: tinyStrtab, contents: symbols},
		tinyStrtab:     {name: ".strtab", kind: 3, contents: []byte("\x00main\x00data\x00")},
		tinyNames:      {name: ".shstrtab", kind: 3, contents: names},
	} {
		le.PutUint32(b[tinyHeader(i, 0):], uint32(bytes.Index(names, append([]byte(s.name), 0))))
		le.PutUint32(b[tinyHeader(i, 4):], s.kind)
		le.PutUint64(b[tinyHeader(i, 8):], s.flags)
		le.PutUint64(b[tinyHeader(i, 24):], uint64(len(b)))
		le.PutUint64(b[tinyHeader(i, 32):], uint64(len(s.contents)))
		le.PutUint32(b[tinyHeader(i, 40):], s.link)
		if i == tinyData {
			le.PutUint64(b[tinyHeader(i, 16):], 0x1000)
		}
		b = append(b, s.contents...)
	}
	return b
}

func parse(b []byte) (*objfile.File, error) {
	return objfile.ReadELF(bytes.NewReader(b), int64(len(b)))
}

func TestTinyELF(t *testing.T) {
	f, err := parse(tinyELF(t))
	require.NoError(t, err)
	data, err := f.Contents(".debug_info")
	require.NoError(t, err)
	assert.Equal(t, bytes.Repeat([]byte("plain"), 100), data)
	assert.True(t, f.HasDWARF())
	data, err = f.Contents(".missing")
	require.NoError(t, err)
	assert.Nil(t, data)
	for range 2 { // read from the file, then from memory
		assert.Equal(t, []byte("content"), f.At(0x1000, 7))
		assert.Equal(t, []byte("tents"), f.From(0x1003))
		assert.Nil(t, f.At(0x1000, 9))
		assert.Nil(t, f.At(0x1008, 1))
		assert.Nil(t, f.At(0xfff, 1))
		assert.Nil(t, f.At(0x1004, math.MaxUint64))
	}
	symbols, err := f.Symbols()
	require.NoError(t, err)
	require.Len(t, symbols, 2)
	assert.Equal(t, "main", symbols[0].Name)
	assert.NoError(t, f.Close())
}

func TestDamagedELF(t *testing.T) {
	le := binary.LittleEndian
	for name, damage := range map[string]func(b []byte) []byte{
		"nothing":             func([]byte) []byte { return nil },
		"half a header":       func(b []byte) []byte { return b[:40] },
		"magic":               func(b []byte) []byte { b[0] = 0; return b },
		"32 bits":             func(b []byte) []byte { b[4] = 1; return b },
		"big-endian":          func(b []byte) []byte { b[5] = 2; return b },
		"segments elsewhere":  func(b []byte) []byte { le.PutUint64(b[32:], math.MaxUint64); return b },
		"sections elsewhere":  func(b []byte) []byte { le.PutUint64(b[40:], uint64(len(b)-1)); return b },
		"no section of names": func(b []byte) []byte { le.PutUint16(b[62:], math.MaxUint16); return b },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(damage(tinyELF(t)))
			require.ErrorIs(t, err, objfile.ErrNotELF)
		})
	}
	for name, damage := range map[string]func(b []byte){
		"beyond the end": func(b []byte) { b[tinyHeader(tinyData, 30)] = 0x80 },
		"too long":       func(b []byte) { b[tinyHeader(tinyData, 37)] = 0x80 },
	} {
		t.Run(name, func(t *testing.T) {
			b := tinyELF(t)
			damage(b)
			f, err := parse(b)
			if err != nil {
				require.ErrorIs(t, err, objfile.ErrNotELF)
				return
			}
			_, err = f.Contents(".data")
			require.ErrorContains(t, err, "section .data")
			assert.Nil(t, f.At(0x1000, 1))
		})
	}
	t.Run("compressed", func(t *testing.T) {
		b := tinyELF(t)
		b[tinyHeader(tinyCompressed, 32)] -= 12
		f, err := parse(b)
		require.NoError(t, err)
		_, err = f.Contents(".debug_info")
		require.ErrorContains(t, err, "section .debug_info")
	})
}

func TestZstd(t *testing.T) {
	b := tinyELF(t)
	at := binary.LittleEndian.Uint64(b[tinyHeader(tinyCompressed, 24):])
	binary.LittleEndian.PutUint32(b[at:], uint32(elf.COMPRESS_ZSTD))
	f, err := parse(b)
	require.NoError(t, err)
	_, err = f.Contents(".debug_info")
	require.ErrorContains(t, err, "section .debug_info: it is not compressed with zlib")
}

// The test binary is read as debug/elf reads it.
func TestAgainstDebugELF(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	f, err := objfile.OpenELF(self)
	require.NoError(t, err)
	defer f.Close()
	e, err := elf.Open(self)
	require.NoError(t, err)
	defer e.Close()
	require.Equal(t, e.Entry, f.Entry)
	require.Len(t, f.Sections, len(e.Sections))
	for i, want := range e.Sections {
		got := f.Sections[i]
		require.Equal(t, []any{want.Name, want.Addr, want.Size, want.Offset, want.FileSize}, []any{got.Name, got.Addr, got.Size, got.Offset, got.FileSize})
		if want.Flags&elf.SHF_COMPRESSED != 0 {
			contents, err := want.Data()
			require.NoError(t, err)
			decompressed, err := got.Decompressed()
			require.NoError(t, err)
			require.True(t, bytes.Equal(contents, decompressed), want.Name)
		}
	}
	segments := 0
	for _, want := range e.Progs {
		if want.Type == elf.PT_LOAD {
			require.Equal(t, objfile.Segment{Offset: want.Off, FileSize: want.Filesz, Addr: want.Vaddr, Size: want.Memsz, Writable: want.Flags&elf.PF_W != 0}, f.Segments[segments])
			segments++
		}
	}
	require.Len(t, f.Segments, segments)
	symbols, err := e.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		_, err = f.Symbols()
		require.ErrorIs(t, err, objfile.ErrNoSymbols)
		return
	}
	require.NoError(t, err)
	got, err := f.Symbols()
	require.NoError(t, err)
	require.Len(t, got, len(symbols))
	for i := range symbols {
		require.Equal(t, []any{symbols[i].Name, symbols[i].Value, symbols[i].Size}, []any{got[i].Name, got[i].Addr, got[i].Size})
	}
}

// TestTruncatedWhileOpen truncates an open file: reading on is an error, and contents read before
// stay as they are.
func TestTruncatedWhileOpen(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	b, err := os.ReadFile(self)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, b, 0o700))
	f, err := objfile.OpenELF(path)
	require.NoError(t, err)
	defer f.Close()
	text, err := f.Contents(".text")
	require.NoError(t, err)
	before := bytes.Clone(text)
	require.NoError(t, os.Truncate(path, 100))
	require.True(t, bytes.Equal(before, text))
	again, err := f.Contents(".text")
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, again))
	_, err = f.Contents(".rodata")
	require.ErrorContains(t, err, "section .rodata")
	_, err = f.Symbols()
	require.Error(t, err)
}

func TestOpenRefuses(t *testing.T) {
	_, err := objfile.OpenELF(t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
	_, err = objfile.OpenELF(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestRunning(t *testing.T) {
	path, err := objfile.Running()
	require.NoError(t, err)
	require.True(t, objfile.IsRunning(path))
	require.False(t, objfile.IsRunning("/"))
}

// FuzzELF reads arbitrary files. There may be errors, but no panic, and no more memory than the
// contents of a file of that size can need.
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
	f.Fuzz(func(_ *testing.T, b []byte) {
		x, err := parse(b)
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
