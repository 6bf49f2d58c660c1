package offheap

import (
	"errors"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestTake(t *testing.T) {
	b, err := Take(3 << 20)
	require.NoError(t, err)
	require.Equal(t, 3<<20, len(b))
	for i := 0; i < len(b); i += 4096 {
		require.Equal(t, byte(0), b[i])
		b[i] = 1
	}
	require.NoError(t, Release(b))
}

// TestReserve reserves more address space than this machine has memory, since address space costs
// nothing. Parts become memory one after the other; providing a part again keeps its contents.
func TestReserve(t *testing.T) {
	const size, first, second = 1 << 40, 5 << 20, 7 << 30
	b, err := Reserve(size)
	require.NoError(t, err)
	require.NoError(t, Provide(b[first:first+8192]))
	b[first] = 1
	require.NoError(t, Provide(b[first:first+1<<20]))
	require.NoError(t, Provide(b[second:second+1<<20]))
	require.NoError(t, Provide(nil))
	require.Equal(t, byte(1), b[first])
	require.Equal(t, byte(0), b[first+1<<20-1])
	require.Equal(t, byte(0), b[second])
	require.NoError(t, Release(b))
}

func TestRefused(t *testing.T) {
	_, err := Take(1 << 50)
	require.Error(t, err)
	err = Refused("a table", err)
	var e *remedy.Error
	require.True(t, errors.As(err, &e))
	require.True(t, strings.Contains(remedy.Of(err), "memory is short"), "%v: %s", err, remedy.Of(err))
}
