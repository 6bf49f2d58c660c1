//go:build amd64 || arm64

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// While a process is frozen twice its garbage is not collected, unless the program would take more
// memory than there is.
func TestGarbageBetweenTwoSnapshots(t *testing.T) {
	const left = 64 << 20
	runtime.GC()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "proc"), 0o755))
	available := memoryNeeded(false, Queries{}).need().Resident + left
	info := fmt.Sprintf("MemTotal: 99999999 kB\nMemAvailable: %d kB\nSwapFree: 0 kB\n", available>>10)
	require.NoError(t, os.WriteFile(filepath.Join(root, "proc", "meminfo"), []byte(info), 0o644))
	defer SetSystem(root)()

	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(150)
	defer func() { debug.SetGCPercent(percent) }()
	var more int64 // bytes that may be allocated between the snapshots
	again := func(func() bool) (Frozen, error) {
		more = debug.SetMemoryLimit(-1) - mappedBytes()
		require.Equal(t, -1, debug.SetGCPercent(-1))
		return nil, errors.ErrUnsupported
	}
	first, second, err := new(Snapshot).freezeTwice(&Config{Context: context.Background(), Again: again})
	require.NoError(t, err)
	require.NoError(t, first.Close())
	require.Nil(t, second)
	require.Positive(t, more)
	require.Less(t, more, int64(mostGarbage/2), "half of %d, but what is mapped changes", left)
	require.Equal(t, limit, debug.SetMemoryLimit(-1))
	require.Equal(t, 150, debug.SetGCPercent(150))

	// Settings that the program changes meanwhile stay, and even if there is much memory there is a
	// bound.
	SetSystem(t.TempDir())
	require.EqualValues(t, mostGarbage, new(Snapshot).garbageAllowed())
	undo := withoutCollections(leastGarbage)
	debug.SetMemoryLimit(1 << 40)
	debug.SetGCPercent(70)
	undo()
	require.EqualValues(t, 1<<40, debug.SetMemoryLimit(limit))
	require.Equal(t, 70, debug.SetGCPercent(150))
}
