package snapshot

import (
	"errors"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestGuard reads memory that must not be read, and panics.
func TestGuard(t *testing.T) {
	memory, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { assert.NoError(t, syscall.Munmap(memory)) }()
	guarded := func(do func() error) (err error) {
		defer Guard(&err)()
		return do()
	}
	for name, do := range map[string]func() error{
		"fault": func() error { memory[1] = memory[0]; return nil },
		"panic": func() error { panic("oops") },
	} {
		err := guarded(do)
		var unavailable *Unavailable
		require.ErrorAs(t, err, &unavailable, name)
		assert.Equal(t, "internal error", unavailable.Cause)
		assert.ErrorContains(t, unavailable.Err, "TestGuard", "the stack says where")
	}
	// Data that a panic may have left half-made is dropped, and nothing stays locked.
	x := new(debuginfo.Index)
	func() {
		index.Lock()
		defer index.Unlock()
		index.x = x
	}()
	require.Error(t, guarded(func() error {
		index.Lock()
		defer index.Unlock()
		panic("oops")
	}))
	require.True(t, index.TryLock())
	require.Nil(t, index.x)
	index.Unlock()

	own := errors.New("the function's own")
	assert.Equal(t, own, guarded(func() error { return own }))
	assert.NoError(t, guarded(func() error { return nil }))

	for _, before := range []bool{true, false} {
		// the caller of this package finds the earlier setting
		was := debug.SetPanicOnFault(before)
		_ = guarded(func() error { panic("oops") })
		assert.Equal(t, before, debug.SetPanicOnFault(was))
	}
}
