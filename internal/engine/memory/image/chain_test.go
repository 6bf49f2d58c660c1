package image

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestChain(t *testing.T) {
	for tail := range uint64(40) {
		for circle := uint64(1); circle < 40; circle++ {
			var c Chain
			steps := uint64(0)
			for at := uint64(1); !c.Returns(at); steps++ {
				require.LessOrEqual(t, steps, 3*(tail+circle), "a tail of %d, a circle of %d", tail, circle)
				if at++; at == 1+tail+circle {
					at = 1 + tail
				}
			}
			require.GreaterOrEqual(t, steps, tail+circle, "every element was seen before the walk ended")
		}
	}
	var c Chain
	for at := range uint64(1 << 16) {
		require.False(t, c.Returns(at+1), "a list without a circle")
	}
}
