//go:build cgo && linux && (amd64 || arm64)

package native

import (
	"os"
	"os/exec"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
)

// agrees walks the heap, and compares it with mallinfo2 before and after.
func agrees(t *testing.T, what ...any) *nativeheap.Heap {
	t.Helper()
	var h *nativeheap.Heap
	// threads of the Go runtime start and end at any time
	for try := 0; ; try++ {
		before, _, _ := mallinfo()
		found, err := nativeheap.Take()
		inUse, mapped, mappings := mallinfo()
		require.NoError(t, err, what...)
		h = found
		if before == inUse || try == 5 {
			require.Equal(t, inUse, h.InUse(), what...)
			require.Equal(t, mapped, h.MappedBytes, what...)
			require.Equal(t, mappings, h.Mapped, what...)
			return h
		}
	}
}

// TestWalk compares the heap with mallinfo2, and finds the blocks of threads.
func TestWalk(t *testing.T) {
	h := agrees(t)
	require.GreaterOrEqual(t, h.Own, int64(h.Threads)/2)
}

// TestRandom compares random workloads of several threads with mallinfo2.
func TestRandom(t *testing.T) {
	n := 30
	if os.Getenv("LEAKGATE_LONG") != "" {
		n = 1000
	}
	for i := range n {
		threads := 1 + i%maxThreads
		startThreads(uint64(i+1), threads, 50+i*331%3000)
		agrees(t, "workload %d", i)
		endThreads(threads)
		agrees(t, "after workload %d", i)
	}
}

// TestBlocks counts blocks of a known size, among them blocks that look like the empty tcache of a
// thread.
func TestBlocks(t *testing.T) {
	for _, size := range []int{1, 100, 648, 656 - 8, 5000, 1 << 20} {
		before := settled(t)
		var blocks []unsafe.Pointer
		for range 100 {
			blocks = append(blocks, zeroed(size))
		}
		after := settled(t)
		require.Equal(t, int64(100), after.Blocks-before.Blocks, "blocks of %d bytes", size)
		for _, b := range blocks {
			free(b)
		}
		require.Equal(t, before.Blocks, settled(t).Blocks, "without blocks of %d bytes", size)
	}
}

// settled walks the heap until the number of blocks stays the same: a thread that begins has a
// block for a moment (runtime/cgo, _cgo_thread_start).
func settled(t *testing.T) *nativeheap.Heap {
	t.Helper()
	h := agrees(t)
	for same := 0; same < 10; same++ {
		time.Sleep(time.Millisecond)
		now := agrees(t)
		if now.Blocks != h.Blocks {
			same = 0
		}
		h = now
	}
	return h
}

// TestBusy reads the heap while threads allocate: the result is right, or there is an error.
func TestBusy(t *testing.T) {
	const left, looks = 50, 20
	before := settled(t)
	startBusy(2)
	var blocks []unsafe.Pointer
	for range left {
		blocks = append(blocks, leak(100_000)) // the threads have no block of this size
	}
	const size = 100_016
	told := 0
	for range looks {
		h, err := nativeheap.Take()
		if err != nil {
			var unknown *nativeheap.UnknownError
			require.ErrorAs(t, err, &unknown)
			continue
		}
		told++
		require.Equal(t, int64(left), h.Sizes[size]+h.Sizes[size+16])
		require.GreaterOrEqual(t, h.Blocks, before.Blocks+left)
	}
	endBusy(2)
	for _, b := range blocks {
		free(b)
	}
	require.Equal(t, before.Blocks, settled(t).Blocks)
	t.Logf("%d of %d looks could tell", told, looks)
}

// TestOtherBuilds runs the tests above in programs that are built in other ways.
func TestOtherBuilds(t *testing.T) {
	const (
		inner            = "LEAKGATE_NATIVE_BUILD"
		withoutLibraries = "Walk|Random|Blocks|Holders"
		all              = withoutLibraries + "|Library"
	)
	if os.Getenv(inner) != "" {
		return
	}
	for _, b := range []struct {
		name  string
		tests string
		args  []string
	}{
		{"race", all, []string{"-race"}},
		{"pie", all, []string{"-buildmode=pie"}},
		{"static", withoutLibraries, []string{"-ldflags=-linkmode=external -extldflags=-static"}},
		{"static pie", withoutLibraries, []string{"-buildmode=pie", "-ldflags=-linkmode=external -extldflags=-static-pie"}},
	} {
		t.Run(b.name, func(t *testing.T) {
			cmd := exec.Command("go", append(append([]string{"test", "-count=1", "-run=^Test(" + b.tests + ")$"}, b.args...), ".")...)
			cmd.Env = append(os.Environ(), inner+"=1")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// BenchmarkTake walks a heap of 10,000 blocks, as a passing assertion does.
func BenchmarkTake(b *testing.B) {
	blocks := make([]unsafe.Pointer, 10_000)
	for i := range blocks {
		blocks[i] = leak(16 + i%200)
	}
	defer func() {
		for _, p := range blocks {
			free(p)
		}
	}()
	for b.Loop() {
		h, err := nativeheap.Take()
		require.NoError(b, err)
		require.GreaterOrEqual(b, h.Blocks, int64(len(blocks)))
	}
}
