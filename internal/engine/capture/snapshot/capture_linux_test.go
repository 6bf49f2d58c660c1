package snapshot_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

type listed struct {
	next *listed
	n    int
}

var list *listed

func fill(n int) {
	list = nil
	for i := range n {
		list = &listed{list, i}
	}
}

func addressOf(pointer any) uint64 { return uint64(reflect.ValueOf(pointer).Pointer()) }

func capture(t *testing.T, configure ...func(*snapshot.Config)) *snapshot.Snapshot {
	t.Helper()
	c := snapshot.Default()
	c.Logf = t.Logf
	for _, f := range configure {
		f(&c)
	}
	s, err := snapshot.Capture(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func withoutSettling(c *snapshot.Config) { c.Settle = false }

// A snapshot has the objects of the moment at which it was taken, whichever way it is taken.
func TestCapture(t *testing.T) {
	defer func() { list = nil }()
	for way, why := range map[string]string{"fork": "", "inplace": "LEAKGATE_FREEZE says so"} {
		t.Run(way, func(t *testing.T) {
			t.Setenv("LEAKGATE_FREEZE", way)
			fill(1000)
			first := list
			s := capture(t)
			list = nil
			assert.Equal(t, why, s.NotForked())
			assert.Positive(t, s.Pause())
			assert.Positive(t, s.Settled())
			assert.Positive(t, s.FrozenAt())
			assert.False(t, s.Stopped())
			assert.False(t, s.OnDisk())
			assert.NoError(t, s.Withheld())
			heap, err := s.Heap()
			require.NoError(t, err)
			again, err := s.Heap()
			require.NoError(t, err)
			assert.Same(t, heap, again)
			n, m := 0, s.Model()
			for addr := addressOf(first); addr != 0; n++ {
				span, obj := m.Object(addr)
				require.NotNil(t, span)
				require.True(t, heap.Live.Marked.Has(obj))
				addr = m.Mem.U64(addr)
			}
			assert.Equal(t, 1000, n)
			image, scan := s.Forecast()
			assert.GreaterOrEqual(t, image, int64(16*n))
			assert.Positive(t, scan)
			assert.NoError(t, s.Ask(snapshot.Queries{Held: true, Retained: true}))
			require.NoError(t, s.Detach())
			require.NoError(t, s.Opened(), "what was read stays")
			require.NoError(t, s.Close())
			require.Error(t, s.Opened())
			_, err = s.Heap()
			require.ErrorContains(t, err, "closed")
		})
	}
}

// An unknown value of the variable is an error with a remedy.
func TestUnknownWay(t *testing.T) {
	t.Setenv("LEAKGATE_FREEZE", "spoon")
	_, err := snapshot.Capture(snapshot.Default())
	var unavailable *snapshot.Unavailable
	require.ErrorAs(t, err, &unavailable)
	require.Equal(t, `LEAKGATE_FREEZE is "spoon"`, unavailable.Cause)
	require.Equal(t, "set it to fork or inplace, or not at all", unavailable.Remedy)
}

// In a program that may be at work, the collection after the snapshot tells which objects were
// dead, if the process can be frozen once more.
func TestSecondLook(t *testing.T) {
	alive := &listed{n: 1}
	s := capture(t, withoutSettling)
	require.True(t, s.SecondMarks())
	assert.False(t, s.Undecided())
	span, obj := s.Model().Object(addressOf(alive))
	require.NotNil(t, span)
	assert.False(t, s.FoundDead(span, obj-span.FirstObj))
	require.NoError(t, s.Close())
	// Without a second freeze nothing is known.
	s = capture(t, withoutSettling, func(c *snapshot.Config) {
		c.Again = func(func() bool) (snapshot.Frozen, error) { return nil, errors.ErrUnsupported }
	})
	assert.False(t, s.SecondMarks())
	assert.True(t, s.Undecided())
	runtime.KeepAlive(alive)
}

// Of the objects that nothing leads to any more, a later collection finds none alive.
func TestUnreached(t *testing.T) {
	fill(1000)
	runtime.GC()
	addr := addressOf(list)
	s := capture(t, withoutSettling)
	heap, err := s.Heap()
	require.NoError(t, err)
	span, obj := s.Model().Object(addr)
	require.NotNil(t, span)
	require.True(t, heap.Live.Marked.Has(obj))
	for a := addr; a != 0; a = s.Model().Mem.U64(a) { // as if the scan had missed the list
		_, obj := s.Model().Object(a)
		heap.Live.Marked.Remove(obj)
	}
	u, err := s.Unreached()
	require.NoError(t, err)
	objects, bytes := u.AliveIn(s.Model())
	assert.GreaterOrEqual(t, objects, int64(1000))
	assert.GreaterOrEqual(t, bytes, int64(16_000))
	require.NoError(t, s.Close())
	list = nil
	s = capture(t)
	later, _ := u.AliveIn(s.Model())
	assert.LessOrEqual(t, later, objects-1000, "the list is dead")
}

// caller refers to an object that it uses again, and to one that it does not.
//
//go:noinline
func caller(t *testing.T) {
	used, unused := &listed{n: 1}, &listed{n: 2}
	at := [2]uint64{addressOf(used), addressOf(unused)}
	refs := callee(t)
	found := make(map[uint64]bool)
	for _, ref := range refs {
		found[uint64(uintptr(ref))] = true
	}
	assert.True(t, found[at[0]])
	assert.False(t, found[at[1]], "it is not used again")
	runtime.KeepAlive(used)
}

//go:noinline
func callee(t *testing.T) []unsafe.Pointer {
	refs, _, err := snapshot.CallerReferences(context.Background(), "github.com/leakgate/leakgate/internal/engine/capture/snapshot_test.callee")
	require.NoError(t, err)
	return refs
}

// The callers of a function refer to what they use after its return.
func TestCallerReferences(t *testing.T) { caller(t) }

// A snapshot of stacks has the goroutine that takes it, and who runs tests is known.
func TestStacks(t *testing.T) {
	program := snapshot.ThisProgram()
	require.NoError(t, snapshot.Stacks(snapshot.Default(), func(m *goruntime.Model, x *debuginfo.Index, pause time.Duration) error {
		assert.Positive(t, pause)
		callers, testing := 0, 0
		for _, g := range m.Goroutines {
			if g.IsCaller {
				callers++
				assert.True(t, program.RunsTests(m, g))
			}
			if program.RunsTests(m, g) {
				testing++
			}
		}
		assert.Equal(t, 1, callers)
		assert.GreaterOrEqual(t, testing, 2, "the main goroutine, too")
		assert.Less(t, testing, len(m.Goroutines))
		return nil
	}))
	mine := errors.New("of the reader")
	require.ErrorIs(t, snapshot.Stacks(snapshot.Default(), func(*goruntime.Model, *debuginfo.Index, time.Duration) error { return mine }), mine)
}

// Errors say what is the matter and what to do.
func TestErrors(t *testing.T) {
	for cause, err := range map[string]error{
		"garbage collections are under way all the time":                                snapshot.ModelError(goruntime.ErrCollecting),
		"the runtime's structures in the frozen process cannot be read":                 snapshot.ModelError(assert.AnError),
		"the heap of the frozen process cannot be read":                                 snapshot.HeapError(assert.AnError),
		"the frozen process cannot be read: a call":                                     snapshot.HeapError(&freeze.Error{Op: "a call", Remedy: "another", Err: assert.AnError}),
		"the program is built with -asan, which makes each object larger than its type": snapshot.ErrPadded(),
		"the system refuses what looking at the heap takes":                             snapshot.MemoryError(&remedy.Error{}),
		(&rtlayout.VersionError{}).Error():                                              snapshot.ModelError(&rtlayout.VersionError{}),
	} {
		var unavailable *snapshot.Unavailable
		require.ErrorAs(t, err, &unavailable, cause)
		assert.Equal(t, cause, unavailable.Cause)
		assert.NotEmpty(t, unavailable.Remedy, cause)
	}
	known := &snapshot.Unavailable{Cause: "known"}
	assert.Equal(t, error(known), snapshot.ModelError(known))
	require.NoError(t, snapshot.MemoryError(assert.AnError))
	var unavailable *snapshot.Unavailable
	require.ErrorAs(t, snapshot.ModelError(&image.ReadError{}), &unavailable)
}

// Where the limits of memory leave too little, there is no snapshot, and the error says so.
func TestMemoryIsShort(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("proc/meminfo", "MemTotal: 100000 kB\nMemAvailable: 1000 kB\n")
	defer snapshot.SetSystem(root)()
	_, err := snapshot.Capture(snapshot.Default())
	var unavailable *snapshot.Unavailable
	require.ErrorAs(t, err, &unavailable)
	assert.Equal(t, "there is not enough memory to look at the heap", unavailable.Cause)
	assert.NotEmpty(t, unavailable.Remedy)
}
