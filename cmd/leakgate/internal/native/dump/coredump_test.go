package dump

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var le = binary.LittleEndian

func words(values ...uint64) (b []byte) {
	for _, v := range values {
		b = le.AppendUint64(b, v)
	}
	return b
}

// header returns the header of an ELF file of a type, whose program headers follow directly.
func header(kind elf.Type, segments int) []byte {
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], uint16(kind))
	le.PutUint16(b[18:], uint16(elf.EM_X86_64))
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], uint16(segments))
	return b
}

func segment(kind elf.ProgType, flags elf.ProgFlag, offset, addr, inFile, inMemory uint64) []byte {
	b := le.AppendUint32(nil, uint32(kind))
	b = le.AppendUint32(b, uint32(flags))
	return append(b, words(offset, addr, 0, inFile, inMemory, 1)...)
}

// core returns a core file with the first page of a library, a segment of its code without
// contents, and anonymous memory in two segments.
func core() []byte {
	const page, notesAt = 0x1000, 64 + 5*56
	id := noteBytes("GNU", 3, "\xab\xcd\x01\x02")
	first := append(header(elf.ET_DYN, 1), segment(elf.PT_NOTE, elf.PF_R, 64+56, 0, uint64(len(id)), uint64(len(id)))...)
	first = append(first, id...)
	first = append(first, make([]byte, page-len(first))...)
	files := append(words(2, page, 0x10000, 0x11000, 0, 0x11000, 0x13000, 1), "/lib/leaf.so\x00/lib/leaf.so\x00"...)
	notes := append(noteBytes("CORE", 1, "other"), noteBytes("CORE", noteFile, string(files))...)
	at := uint64(notesAt + len(notes))
	b := header(elf.ET_CORE, 5)
	b = append(b, segment(elf.PT_NOTE, 0, notesAt, 0, uint64(len(notes)), 0)...)
	b = append(b, segment(elf.PT_LOAD, elf.PF_R, at, 0x10000, page, page)...)
	b = append(b, segment(elf.PT_LOAD, elf.PF_R|elf.PF_X, 0, 0x11000, 0, 2*page)...)
	b = append(b, segment(elf.PT_LOAD, elf.PF_R|elf.PF_W, at+page, 0x20000, 8, 8)...)
	b = append(b, segment(elf.PT_LOAD, elf.PF_R|elf.PF_W, at+page+8, 0x20008, 8, page)...)
	b = append(append(b, notes...), first...)
	return append(b, "0123456789abcdef"...)
}

func open(t *testing.T, b []byte) (*Core, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "core")
	require.NoError(t, os.WriteFile(name, b, 0o600))
	require.Equal(t, bytes.HasPrefix(b, header(elf.ET_CORE, 5)[:18]), IsCore(name))
	c, err := OpenCore(name)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, c.Close()) })
	}
	return c, err
}

func TestCore(t *testing.T) {
	c, err := open(t, core())
	require.NoError(t, err)
	require.Equal(t, []*Mapping{
		{Start: 0x10000, End: 0x11000, File: "/lib/leaf.so", BuildID: "abcd0102"},
		{Start: 0x11000, End: 0x13000, Offset: 0x1000, Executable: true, File: "/lib/leaf.so", BuildID: "abcd0102"},
		{Start: 0x20000, End: 0x20008},
		{Start: 0x20008, End: 0x21008},
	}, c.Maps())
	b, err := c.Read(0x20004, 8)
	require.NoError(t, err)
	require.Equal(t, "456789ab", string(b), "of two segments")
	for addr, want := range map[uint64]string{
		0x11000: "does not have the memory at 0x11000", 0x2000c: "does not have the memory at 0x20010", 0x30000: "does not have the memory",
	} {
		_, err := c.Read(addr, 8)
		require.ErrorContains(t, err, want)
	}
	_, err = c.Read(0x20000, 1<<40)
	require.ErrorContains(t, err, "more than can be right")
}

func TestDamagedCore(t *testing.T) {
	whole := core()
	c, err := open(t, whole[:len(whole)-12])
	require.NoError(t, err, "what is there can be used")
	_, err = c.Read(0x20000, 8)
	require.ErrorContains(t, err, "truncated")
	_, err = open(t, whole[:64+5*56+8])
	require.ErrorContains(t, err, "its notes are not there")
	_, err = open(t, []byte("no core"))
	require.ErrorContains(t, err, "no core file")
	other := core()
	le.PutUint16(other[16:], uint16(elf.ET_DYN))
	_, err = open(t, other)
	require.ErrorContains(t, err, "no core file, but ET_DYN")
	_, err = OpenCore(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.False(t, IsCore(filepath.Join(t.TempDir(), "none")))
}

// Holes make a core file with many notes that takes no room on the disk.
func TestManyNotes(t *testing.T) {
	core := core()
	for header := core[64:]; ; header = header[56:] {
		if le.Uint32(header) == uint32(elf.PT_NOTE) {
			le.PutUint64(header[32:], maxNotes+1)
			break
		}
	}
	name := filepath.Join(t.TempDir(), "core")
	require.NoError(t, os.WriteFile(name, core, 0o600))
	require.NoError(t, os.Truncate(name, 1<<30))
	_, err := OpenCore(name)
	require.ErrorContains(t, err, "268435457 bytes of notes, more than can be right")
}

func FuzzOpenCore(f *testing.F) {
	f.Add(core())
	name := filepath.Join(f.TempDir(), "core")
	f.Fuzz(func(t *testing.T, b []byte) {
		require.NoError(t, os.WriteFile(name, b, 0o600))
		c, err := OpenCore(name)
		if err != nil {
			return
		}
		defer func() { require.NoError(t, c.Close()) }()
		for i, m := range c.Maps() {
			require.True(t, i == 0 || c.Maps()[i-1].Start <= m.Start)
		}
		_, _ = c.Read(0x20000, 16)
	})
}
