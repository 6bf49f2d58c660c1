package objset

import (
	"math/rand/v2"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestSet(t *testing.T) {
	s := New(130)
	for _, i := range []uint32{0, 63, 64, 129} {
		require.False(t, s.Has(i))
		require.True(t, s.Add(i))
		require.False(t, s.Add(i))
		require.False(t, s.AddShared(i))
		require.True(t, s.Has(i))
	}
	require.False(t, s.Has(1))
	require.False(t, s.Has(128))
	require.True(t, s.Remove(63))
	require.False(t, s.Remove(63))
	require.True(t, s.AddShared(63))
	require.True(t, s.Has(63))
}

func TestBits(t *testing.T) {
	const size = 256
	s := New(size)
	for range 100 {
		s.Add(rand.Uint32N(size))
	}
	for range 1000 {
		i := rand.Uint32N(size)
		n := 1 + rand.Uint32N(min(64, size-i))
		bits := s.Bits(i, n)
		for k := range n {
			require.Equal(t, s.Has(i+k), bits>>k&1 != 0, "bit %d of %d from %d", k, n, i)
		}
		require.Zero(t, bits>>1>>(n-1))
	}
}
