package observe

import (
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A rate is undone, unless the program has set another meanwhile.
func TestSetMemProfileRate(t *testing.T) {
	was := runtime.MemProfileRate
	defer func() { runtime.MemProfileRate = was }()
	undo := SetMemProfileRate(1 << 20)
	assert.Equal(t, 1<<20, runtime.MemProfileRate)
	undo()
	assert.Equal(t, was, runtime.MemProfileRate)
	undo = SetMemProfileRate(1 << 20)
	runtime.MemProfileRate = 1 << 21
	undo()
	assert.Equal(t, 1<<21, runtime.MemProfileRate)
}

var sink [][]byte

// The records are those of the collection that has ended last.
func TestMemProfile(t *testing.T) {
	defer SetMemProfileRate(1)()
	for range 100 {
		sink = append(sink, make([]byte, 1<<10))
	}
	defer func() { sink = nil }()
	runtime.GC()
	objects := int64(0)
	for _, r := range MemProfile() {
		if frames := MemProfileFrames(r.Stack()); len(frames) > 0 && strings.HasSuffix(frames[0].Func, ".TestMemProfile") && r.AllocBytes/r.AllocObjects == 1<<10 {
			objects += r.InUseObjects()
			assert.True(t, strings.HasSuffix(frames[0].File, "memprofile_test.go") && frames[0].Line > 0)
		}
	}
	assert.Equal(t, int64(100), objects)
	assert.True(t, strings.HasPrefix(HeapProfile(), "\x1f\x8b"), "it is compressed")
}

// A stack is told without the functions of the runtime at its top, also where all are of the
// runtime.
func TestMemProfileFrames(t *testing.T) {
	assert.Empty(t, MemProfileFrames(nil))
	var pcs [64]uintptr
	n := 0
	func() { n = runtime.Callers(0, pcs[:]) }() // with runtime.Callers itself
	frames := MemProfileFrames(pcs[:n])
	require.Greater(t, len(frames), 2)
	assert.True(t, strings.HasSuffix(frames[0].Func, ".TestMemProfileFrames.func1"), frames[0].Func)
	assert.Equal(t, "runtime.goexit", frames[len(frames)-1].Func)
	assert.Empty(t, MemProfileFrames(pcs[:1]))
}
