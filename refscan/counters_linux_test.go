//go:build amd64 || arm64

package refscan_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// The cost of a scan, in figures that do not depend on how fast or busy a machine is.

var (
	countedList  *listNode
	countedBytes []byte
)

// In a program at rest, a capture makes two collections, which is what it takes to empty a
// sync.Pool, and freezes once. What a capture allocates does not start another one here, as it may
// where other tests have left much. Package testing or the runtime may collect at the same time, so
// the least of several captures counts.
func TestCollectionsOfACapture(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := uint32(100)
	for range 10 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := refscan.Capture()
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		require.NoError(t, s.Close())
		least = min(least, after.NumGC-before.NumGC)
	}
	assert.EqualValues(t, 2, least)
}

// A scan allocates a few bytes per object on the program's heap, in few pieces: its own data is
// outside the heap.
func TestAllocationsPerObject(t *testing.T) {
	require.Slow(t)
	long(t)
	const objects = 300_000
	once := func() (pieces, bytes float64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := refscan.Capture()
		require.NoError(t, err)
		_, err = s.Scan()
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		require.NoError(t, s.Close())
		return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)
	}
	// A scan that takes longer looks more often at what memory is left, and other goroutines of the
	// process allocate, too: the least counts. A busy machine needs more scans until then.
	measure := func(isEnough func(pieces, bytes float64) bool) (pieces, bytes float64) {
		pieces, bytes = once()
		for i := 1; i < 3 || i < 20 && !isEnough(pieces, bytes); i++ {
			p, b := once()
			pieces, bytes = min(pieces, p), min(bytes, b)
		}
		return pieces, bytes
	}
	once() // reads debug information
	pieces, bytes := measure(func(float64, float64) bool { return true })
	for i := range objects {
		countedList = &listNode{next: countedList, id: i}
	}
	defer func() { countedList = nil }()
	const mostPieces, mostBytes = 0.01 * objects, 40 * objects
	morePieces, moreBytes := measure(func(p, b float64) bool { return p-pieces < mostPieces && b-bytes < mostBytes })
	t.Logf("%.3f allocations and %.0f bytes for each object", (morePieces-pieces)/objects, (moreBytes-bytes)/objects)
	assert.Less(t, morePieces-pieces, mostPieces)
	assert.Less(t, moreBytes-bytes, float64(mostBytes))
}

// The allocations of a scan that do not depend on the heap are limited, too. (A small heap is
// collected each time that 4 MB were allocated.)
func TestAllocationsOfASmallScan(t *testing.T) {
	least := uint64(1 << 40)
	for range 5 {
		s, err := refscan.Capture()
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = s.Scan()
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		require.NoError(t, s.Close())
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	t.Logf("%d KB", least>>10)
	assert.Less(t, least, uint64(7<<20))
}

// Memory without pointers is not copied out of the frozen process. It costs only its part of a page
// table.
func TestMemoryWithoutPointersIsNotRead(t *testing.T) {
	long(t)
	const size = 128 << 20
	growth := func() int64 {
		before := resident("VmRSS:")
		s, err := refscan.Capture()
		require.NoError(t, err)
		defer s.Close()
		_, err = s.Scan()
		require.NoError(t, err)
		return resident("VmRSS:") - before
	}
	growth() // reads debug information
	usual := growth()
	// untouched, so that it takes no memory unless it is read
	countedBytes = make([]byte, size)
	defer func() { countedBytes = nil }()
	grown := growth()
	t.Logf("the process grew by %d KB, without that memory by %d KB", grown>>10, usual>>10)
	assert.Less(t, grown-usual, int64(size/4))
}
