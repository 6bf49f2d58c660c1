//go:build amd64 || arm64

package refscan_test

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

var disturbed *listNode

// heapFigures are figures by which a test may measure its own memory.
type heapFigures struct {
	alloc, next int64
	objects     int64
	percent     int
	limit       int64
	goroutines  int
}

func measureHeap() heapFigures {
	runtime.GC()
	runtime.GC() // completes the collection before
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return heapFigures{
		alloc: int64(ms.HeapAlloc), next: int64(ms.NextGC), objects: int64(ms.HeapObjects),
		percent: percent, limit: debug.SetMemoryLimit(-1), goroutines: runtime.NumGoroutine(),
	}
}

// A scan leaves only garbage on the program's heap: the next collection frees it, and the
// collector's pace is as before.
func TestHeapFiguresAreNotDisturbed(t *testing.T) {
	long(t)
	require.Slow(t)
	for i := range 200_000 {
		disturbed = &listNode{next: disturbed, id: i}
	}
	defer func() { disturbed = nil }()
	defer debug.SetGCPercent(debug.SetGCPercent(150))
	scan(t) // opens descriptors that stay open
	before := measureHeap()
	for range 3 {
		scan(t)
	}
	after := measureHeap()
	t.Logf("%+v, then %+v", before, after)
	const slack = 64 << 10 // caches of the runtime and of package testing
	assert.Less(t, after.alloc-before.alloc, int64(slack))
	assert.Less(t, after.objects-before.objects, int64(500))
	assert.Less(t, after.next-before.next, int64(4*slack))
	assert.Equal(t, before.percent, after.percent)
	assert.Equal(t, before.limit, after.limit)
	assert.Equal(t, before.goroutines, after.goroutines)
}

// A heap profile after the next collection shows next to nothing of a scan as in use.
func TestHeapProfileIsNotDisturbed(t *testing.T) {
	long(t)
	scan(t) // opens descriptors that stay open
	inUse := func() (bytes int64) {
		for range 3 { // a profile is as of the last complete collection
			runtime.GC()
		}
		var records []runtime.MemProfileRecord
		for n, ok := runtime.MemProfile(nil, false); !ok; n, ok = runtime.MemProfile(records, false) {
			records = make([]runtime.MemProfileRecord, n+50)
		}
		for i := range records {
			if ownRecord(records[i].Stack()) {
				bytes += records[i].InUseBytes()
			}
		}
		return bytes
	}
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	before := inUse()
	for range 3 {
		s, err := refscan.Capture()
		require.NoError(t, err)
		_, err = s.Scan()
		require.NoError(t, err)
		require.Positive(t, inUse(), "the profile would show it")
		require.NoError(t, s.Close())
	}
	after := inUse()
	t.Logf("in use by this module: %d bytes, then %d", before, after)
	assert.Less(t, after-before, int64(16<<10))
}

// ownRecord reports whether the stack has a function of package refscan or below.
func ownRecord(stack []uintptr) bool {
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "github.com/leakgate/leakgate/refscan.") ||
			strings.HasPrefix(f.Function, "github.com/leakgate/leakgate/internal/engine/") {
			return true
		}
		if !more {
			return false
		}
	}
}
