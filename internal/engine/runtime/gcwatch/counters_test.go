package gcwatch_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/runtime/gcwatch"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// self returns the counters of this process; without debug information the test is skipped.
func self(t *testing.T) *gcwatch.Counters {
	t.Helper()
	if !snapshot.Supported {
		t.Skip("this system is not supported")
	}
	index, err := snapshot.OpenIndex(context.Background(), t.Logf)
	require.NoError(t, err)
	bias, err := snapshot.LoadBias(index)
	require.NoError(t, err)
	c, err := gcwatch.FindCounters(rtlayout.In(index, bias))
	require.NoError(t, err)
	return c
}

// The counters agree with the runtime's metrics.
func TestCountersAreThoseOfMetrics(t *testing.T) {
	c, metrics := self(t), gcwatch.NewReader()
	for range 5 {
		runtime.GC()
		want, _ := metrics.Last()
		got, err := c.Last(gcwatch.Self{})
		require.NoError(t, err)
		assert.Equal(t, want.Number, uint64(got.Number))
		assert.Equal(t, want.Live, uint64(got.Marked))
		swept, err := c.Swept(gcwatch.Self{})
		require.NoError(t, err)
		assert.Equal(t, got.Number, swept)
	}
}

var (
	sink []byte
	tree *node
)

type node struct{ left, right *node }

func grow(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{grow(depth - 1), grow(depth - 1)}
}

// Memory that is allocated while a collection marks is not part of Least.
func TestLeastHasNothingNew(t *testing.T) {
	c := self(t)
	tree = grow(18) // marking takes a while
	defer func() { tree = nil }()
	runtime.GC()
	calm, err := c.Last(gcwatch.Self{})
	require.NoError(t, err)
	alive, known := calm.Least()
	require.True(t, known, "no collection has begun since")

	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				sink = make([]byte, 32<<10)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	const slack = 2 << 20 // bytes that processors had taken from the heap before
	most := int64(0)
	// On a busy machine the next collection may have begun when one is looked at.
	for tries := 0; tries < 30 || most == 0 && tries < 1000; tries++ {
		runtime.GC()
		busy, err := c.Last(gcwatch.Self{})
		require.NoError(t, err)
		if least, known := busy.Least(); known {
			require.True(t, least <= alive+slack, "%d, then %d of %d", alive, least, busy.Marked)
			most = max(most, busy.Allocated)
		}
	}
	require.Positive(t, most)
}

// ReadMemStats gives what processors had taken from the heap back to it, so that less counts as
// allocated when marking ends than when it began.
func TestLeastIsKnownBesideReadMemStats(t *testing.T) {
	c := self(t)
	tree = grow(16)
	defer func() { tree = nil }()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		var m runtime.MemStats
		for {
			select {
			case <-stop:
				return
			default:
				runtime.ReadMemStats(&m)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	for range 10 {
		runtime.GC()
		last, err := c.Last(gcwatch.Self{})
		require.NoError(t, err)
		_, known := last.Least()
		require.True(t, known, "%+v", last)
	}
}
