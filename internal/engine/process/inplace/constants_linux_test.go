//go:build amd64 || arm64

package inplace

import (
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestReadOnly(t *testing.T) {
	const maps = `00400000-0049e000 r-xp 00000000 08:01 12 /tmp/x.test
0049e000-00548000 r--p 0009e000 08:01 12 /tmp/x.test
00548000-0055f000 rw-p 00148000 08:01 12 /tmp/x.test
0055f000-00592000 rw-p 00000000 00:00 0
c000000000-c000400000 rw-p 00000000 00:00 0
7f0e49c00000-7f0e49d00000 r--p 00000000 08:01 12 /tmp/x.test
7f0e49e00000-7f0e49e04000 r--p 00000000 08:01 14 /tmp/short
7f0e4a000000-7f0e4a021000 ---p 00000000 08:01 13 /tmp/plugin.so
7f0e4a021000-7f0e4a022000 r--p 00000000 08:01 13 /tmp/plugin.so
7f0e4a022000-7f0e4a023000 rw-p 00000000 08:01 13 /tmp/plugin.so
7f0e4a030000-7f0e4a032000 r--p 00000000 08:01 15 /tmp/plugin.so.1
7f0e4a040000-7f0e4a042000 r--p 00000000 08:01 12 /tmp/x.test
7ffd2f5f6000-7ffd2f5f8000 r-xp 00000000 00:00 0 [vdso]
`
	tables := []image.Range{{Addr: 0x401000, Len: 0x100000}, {Addr: 0x7f0e4a022100, Len: 0x10}}
	require.Equal(t, []image.Range{{Addr: 0x400000, Len: 0x148000}, {Addr: 0x7f0e4a021000, Len: 0x1000}}, readOnly([]byte(maps), tables))
	require.Empty(t, readOnly([]byte(maps), nil))
	require.Empty(t, readOnly(nil, tables))
	require.Empty(t, readOnly([]byte("nonsense\n-\n"), tables))
}

// TestMappedFile maps several pages of a file of a few bytes, as databases do. Reading the pages
// beyond the file's end faults, so the image must not include this memory.
func TestMappedFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "short"))
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString("a few bytes")
	require.NoError(t, err)
	view, err := syscall.Mmap(int(f.Fd()), 0, 4*os.Getpagesize(), syscall.PROT_READ, syscall.MAP_SHARED)
	require.NoError(t, err)
	defer syscall.Munmap(view)

	mapped := image.Range{Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(view)))), Len: uint64(len(view))}
	own := image.Range{Addr: uint64(reflect.ValueOf(TestMappedFile).Pointer()), Len: 1}
	found := readOnlyMemory([]image.Range{own})
	require.True(t, own.Overlaps(found), "the program's own code")
	require.False(t, mapped.Overlaps(found), "the mapped file")
}
