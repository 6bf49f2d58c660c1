package callrecord

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// pieces is memory that has contents at a few addresses only.
type pieces map[uint64][]byte

func (m pieces) ReadAt(b []byte, off int64) (int, error) {
	for at, piece := range m {
		if uint64(off) >= at && uint64(off)+uint64(len(b)) <= at+uint64(len(piece)) {
			return copy(b, piece[uint64(off)-at:]), nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}

func words(values ...uint64) (b []byte) {
	for _, v := range values {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

// TestRegisteredInMemory names code that a library generated and registered by gdb's interface,
// from the memory of the process. The code must not be attributed to the library at the addresses
// above it.
func TestRegisteredInMemory(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	dir := t.TempDir()
	compile := func(name, text string, args ...string) string {
		in, out := filepath.Join(dir, name+".c"), filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(in, []byte(text), 0o666))
		said, err := exec.Command("gcc", append([]string{"-g", "-O1", "-o", out, in}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", said)
		return out
	}
	library := compile("libjit.so", "struct { int version, action; void *relevant, *first; } __jit_debug_descriptor = {1, 0, 0, 0};\nint engine(int n) { return n; }\n", "-shared", "-fPIC")
	object, err := os.ReadFile(compile("script.o", "\n\nint script_open(int n) {\n\treturn n * 3 + 1;\n}\n", "-c", "-ffunction-sections"))
	require.NoError(t, err)

	const base, code, entry, image = 0x7f0000010000, 0x7f000000f000, 0x10000, 0x20000
	x, err := elf.NewFile(bytes.NewReader(object))
	require.NoError(t, err)
	headers := binary.NativeEndian.Uint64(object[0x28:]) // e_shoff
	for i, s := range x.Sections {
		if s.Name == ".text.script_open" { // a loader may put the section anywhere
			binary.NativeEndian.PutUint64(object[headers+uint64(i)*64+16:], code)
		}
	}
	y, err := elf.Open(library)
	require.NoError(t, err)
	defer y.Close()
	symbols, err := y.Symbols()
	require.NoError(t, err)
	descriptor := uint64(0)
	for _, s := range symbols {
		if s.Name == "__jit_debug_descriptor" {
			descriptor = base + s.Value
		}
	}
	memory := pieces{
		descriptor: words(1, entry, entry),
		entry:      words(0, 0, image, uint64(len(object))),
		image:      object,
	}
	r := &record{Maps: mapsOf(t, library, base), Calls: 1, Stacks: []stack{{Function: "malloc", C: []uint64{code + 3}, Last: amount{1, 8}}}}
	a, err := answer(r, memory)
	require.NoError(t, err)
	require.Equal(t, "   +1.00 block/op (+8 B/op): malloc <- script_open", a.Lines[0].Text)
	a, err = answer(r, noMemory{})
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("   +1.00 block/op (+8 B/op): malloc <- [anonymous:%x]+0x2", uint64(code)), a.Lines[0].Text)
}
