package repeat

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// If a group takes longer than before, only as many functions are repeated as there is time for.
func TestFitting(t *testing.T) {
	group := []timed{{took: 1}, {took: 2}, {took: 3}, {took: 4}}
	for _, c := range []struct {
		one, most time.Duration
		want      int
	}{
		{10, 10, 4}, {20, 20, 4}, {20, 19, 3}, {20, 12, 3}, {20, 11, 2}, {20, 6, 2}, {20, 5, 1}, {20, 1, 1}, {20, 0, 1},
	} {
		require.Equal(t, c.want, fitting(group, c.one, c.most), "%d in %d", c.one, c.most)
	}
	require.Equal(t, 1, fitting(group[:1], 100, 1))
	require.Equal(t, time.Duration(10), sum(group))
}
