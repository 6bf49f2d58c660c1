package objset

import (
	"math/rand/v2"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A Worklist gives each number that was added since it was taken, however many there are.
func TestWorklist(t *testing.T) {
	const size = 5 * maxStack
	w, in := NewWorklist(size), make(map[uint32]bool)
	for _, share := range []float64{0.9, 0.6, 0.4, 0} {
		for range 4 * size {
			if rand.Float64() < share {
				if i := rand.Uint32N(size); !in[i] {
					in[i] = true
					w.Add(i)
				}
			} else if i, ok := w.Take(); ok {
				require.True(t, in[i], "%d was not in the list", i)
				delete(in, i)
			} else {
				require.Empty(t, in)
			}
		}
	}
	_, ok := w.Take()
	require.False(t, ok)
	require.Empty(t, in)
}
