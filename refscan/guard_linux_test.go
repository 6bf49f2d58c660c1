package refscan

import (
	"errors"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGuard reads memory that must not be read, and panics.
func TestGuard(t *testing.T) {
	memory, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { assert.NoError(t, syscall.Munmap(memory)) }()
	guarded := func(do func() error) (err error) {
		defer guard(&err)()
		return do()
	}
	for name, do := range map[string]func() error{
		"fault": func() error { memory[1] = memory[0]; return nil },
		"panic": func() error { panic("oops") },
	} {
		err := guarded(do)
		var unavailable *UnavailableError
		require.ErrorAs(t, err, &unavailable, name)
		assert.Equal(t, "internal error", unavailable.Cause)
		assert.ErrorContains(t, unavailable.Err, "TestGuard", "the stack says where")
	}
	own := errors.New("the function's own")
	assert.Equal(t, own, guarded(func() error { return own }))
	assert.NoError(t, guarded(func() error { return nil }))

	for _, before := range []bool{true, false} { // whoever called this package finds his setting as it was
		was := debug.SetPanicOnFault(before)
		_ = guarded(func() error { panic("oops") })
		assert.Equal(t, before, debug.SetPanicOnFault(was))
	}
}
