//go:build amd64 || arm64

package attach

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A copy gives memory back once it has been read. The memory can be read again, and the process
// keeps its own.
func TestCopyGivesMemoryBack(t *testing.T) {
	const size = 64 << 20
	pid, lines := startSubject(t, fmt.Sprint(size))
	var at uint64
	_, err := fmt.Fscanf(lines, "%d\n", &at)
	require.NoError(t, err)
	f, err := Take(pid, Options{})
	if err != nil && strings.Contains(err.Error(), "may not be looked into") {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	require.Empty(t, f.NotForked)

	before := resident(t, f.copied)
	require.True(t, before >= size, before)
	for _, r := range []image.Range{{Addr: at + 1, Len: size - 2}, {Addr: at, Len: size}, {Addr: at + step - 10, Len: 20}, {Addr: at + size - 5000, Len: 5000}} {
		got, err := f.Copy([]image.Range{r})
		require.NoError(t, err)
		requireFilled(t, got[0], r, at)
		// The kernel counts in batches.
		require.True(t, resident(t, f.copied) <= before-size*9/10, "%d of %d", resident(t, f.copied), before)
	}
	process, err := openMemory(pid)
	require.NoError(t, err)
	own := make([]byte, size)
	_, err = process.ReadAt(own, int64(at))
	require.NoError(t, err)
	requireFilled(t, own, image.Range{Addr: at, Len: size}, at)
}

// requireFilled requires what the program filled its memory with.
func requireFilled(t *testing.T, b []byte, r image.Range, at uint64) {
	t.Helper()
	require.Equal(t, int(r.Len), len(b))
	for i := range b {
		if want := byte((r.Addr - at + uint64(i)) / 1000); b[i] != want {
			require.Equal(t, want, b[i], "at %d of %+v", i, r)
		}
	}
}

// resident are the bytes of memory that a process has.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	require.NoError(t, err)
	var all, pages int64
	_, err = fmt.Sscan(string(b), &all, &pages)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}
