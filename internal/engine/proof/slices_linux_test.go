package proof

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/require"
)

// A sliceHolder is an object that contains a slice header.
type sliceHolder struct {
	about string
	names []string
}

var holder *sliceHolder

// Slices in objects are watched, or the watch says that they cannot be watched: also if collections
// end and spans are added while it reads.
func TestSlicesBesideCollections(t *testing.T) {
	const room, rounds = 1000, 300
	holder = &sliceHolder{about: "a test", names: make([]string, 0, room)}
	defer func() { holder = nil }()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		var kept [][]*int
		for {
			select {
			case <-stop:
				return
			default:
			}
			if kept = append(kept, make([]*int, 1<<11)); len(kept) == 100 {
				kept = nil
				runtime.GC()
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	watched := 0
	for range rounds {
		s, err := WatchSlices(t.Context(), t.Logf)
		if err != nil {
			continue
		}
		require.Equal(t, int64(0), s.Unwatched())
		watched++
		holder.names = append(holder.names, "started", "started")
		longer, err := s.GotLonger(2)
		require.True(t, longer || err != nil)
	}
	t.Logf("watched in %d rounds of %d", watched, rounds)
	require.True(t, watched > 0)
}
