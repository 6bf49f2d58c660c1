package elfimage_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/process/elfimage"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

type segment struct {
	kind       elf.ProgType
	addr, size uint64 // in memory
	content    []byte
}

func write(t *testing.T, kind elf.Type, entry uint64, segments ...segment) string {
	t.Helper()
	var b bytes.Buffer
	put := func(v any) { require.NoError(t, binary.Write(&b, binary.LittleEndian, v)) }
	put(elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1},
		Type:  uint16(kind), Machine: uint16(elf.EM_X86_64), Version: 1, Entry: entry,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: uint16(len(segments)),
	})
	off := uint64(64 + 56*len(segments))
	for _, s := range segments {
		put(elf.Prog64{Type: uint32(s.kind), Flags: uint32(elf.PF_R), Off: off, Vaddr: s.addr, Filesz: uint64(len(s.content)), Memsz: s.size})
		off += uint64(len(s.content))
	}
	for _, s := range segments {
		b.Write(s.content)
	}
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o666))
	return name
}

func note(kind uint32, desc []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 5)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(desc)))
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = append(b, "CORE\x00\x00\x00\x00"...)
	b = append(b, desc...)
	return append(b, make([]byte, -len(desc)&3)...)
}

func words(of ...uint64) (b []byte) {
	for _, w := range of {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// status returns a prstatus in which register i has the value i+base.
func status(tid int, base uint64) []byte {
	b := make([]byte, 112)
	binary.LittleEndian.PutUint32(b[32:], uint32(tid))
	for i := range uint64(27) {
		b = append(b, words(base+i)...)
	}
	return append(b, words(0)...)
}

func ramp(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func TestCore(t *testing.T) {
	program := ramp(0x100)
	exe, err := elfimage.OpenProgram(write(t, elf.ET_EXEC, 0x1010, segment{elf.PT_LOAD, 0x1000, 0x100, program}))
	require.NoError(t, err)
	defer exe.Close()
	notes := append(note(1, status(7, 100)), note(2, make([]byte, 512))...)
	notes = append(notes, note(1, status(8, 200))...)
	notes = append(notes, note(0x202, append(make([]byte, 160), words(0, 77)...))...)
	notes = append(notes, note(6, words(9, 0x5000_1010, 0, 0))...)
	path := write(t, elf.ET_CORE, 0,
		segment{elf.PT_NOTE, 0, 0, notes},
		segment{elf.PT_LOAD, 0x5000_1000, 0x100, nil}, // left out: the file has it
		segment{elf.PT_LOAD, 0x9000_0000, 0x80, ramp(0x80)},
		segment{elf.PT_LOAD, 0x9000_0080, 0x80, ramp(0x40)}, // half of it zeros
	)
	core, err := elfimage.OpenCore(path, exe)
	require.NoError(t, err)
	defer core.Close()
	require.Equal(t, uint64(0x5000_0000), exe.Bias())
	require.Len(t, core.Threads, 2)
	first, second := core.Threads[0], core.Threads[1]
	require.Equal(t, 7, first.TID)
	require.Equal(t, uint64(116), first.PC)
	require.Equal(t, uint64(119), first.SP)
	require.Len(t, first.Registers, 15)
	require.Equal(t, 8, second.TID)
	require.Contains(t, second.Registers, uint64(77), "a vector register")

	require.Equal(t, program[0x20:0x30], core.Lend(image.Range{Addr: 0x5000_1020, Len: 0x10}))
	require.Nil(t, core.Lend(image.Range{Addr: 0x9000_0070, Len: 0x20}), "in two segments")
	got, err := core.Copy([]image.Range{
		{Addr: 0x9000_0070, Len: 0x20},
		{Addr: 0x9000_00b0, Len: 0x20},
		{Addr: 0x9000_00f8, Len: 0x20}, // beyond the end
		{Addr: 0x7000_0000, Len: 0x20}, // nothing there
		{Addr: 0x5000_1010, Len: 0x10},
	})
	require.NoError(t, err)
	require.Equal(t, append(ramp(0x80)[0x70:], ramp(0x10)...), got[0])
	require.Equal(t, append(ramp(0x40)[0x30:], make([]byte, 0x10)...), got[1])
	require.Equal(t, make([]byte, 8), got[2])
	require.Empty(t, got[3])
	require.Equal(t, program[0x10:0x20], got[4])

	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, n := range []int{70, 200, len(content) - 1} {
		cut := filepath.Join(t.TempDir(), "cut")
		require.NoError(t, os.WriteFile(cut, content[:n], 0o666))
		_, err := elfimage.OpenCore(cut, exe)
		require.ErrorAs(t, err, new(*elfimage.TruncatedError), "%d bytes", n)
	}
	for want, path := range map[string]string{
		"no registers of threads": write(t, elf.ET_CORE, 0, segment{elf.PT_NOTE, 0, 0, note(6, words(9, 0x1010))}),
		"no auxiliary vector":     write(t, elf.ET_CORE, 0, segment{elf.PT_NOTE, 0, 0, note(1, status(1, 1))}),
		"not the program":         write(t, elf.ET_CORE, 0, segment{elf.PT_NOTE, 0, 0, append(note(1, status(1, 1)), note(6, words(9, 0x1234))...)}),
		"no core file":            write(t, elf.ET_DYN, 0),
	} {
		_, err := elfimage.OpenCore(path, exe)
		require.ErrorContains(t, err, want)
	}
}

// Whatever the notes contain, reading them ends, and stays within their bounds.
func FuzzOpen(f *testing.F) {
	f.Add(append(note(1, status(7, 100)), note(6, words(9, 0x1010))...))
	f.Add(note(1, nil))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, notes []byte) {
		exe, err := elfimage.OpenProgram(write(t, elf.ET_EXEC, 0x1010, segment{elf.PT_LOAD, 0x1000, 0x100, ramp(0x100)}))
		require.NoError(t, err)
		defer exe.Close()
		core, err := elfimage.OpenCore(write(t, elf.ET_CORE, 0, segment{elf.PT_NOTE, 0, 0, notes}), exe)
		if err == nil {
			require.NotEmpty(t, core.Threads)
			require.NoError(t, core.Close())
		}
	})
}
