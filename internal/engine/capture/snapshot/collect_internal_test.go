package snapshot

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A small heap is collected on one processor, and the program gets all processors back afterwards.
func TestCollectOnOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	allProcessorsUntil = 0
	runtime.GC()
	require.True(t, worthOneProcessor(), "the heap of these tests is not small any more")
	before := collections()
	require.NoError(t, Collect(context.Background()))
	assert.Greater(t, collections(), before)
	assert.Equal(t, 3, runtime.GOMAXPROCS(0))
}

// A wait that the end of the test's time cuts short has a remedy.
func TestCollectCutShort(t *testing.T) {
	require.NoError(t, Collect(context.Background()))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := awaitEnd(ctx, time.Hour)
	var u *Unavailable
	require.ErrorAs(t, err, &u)
	assert.Contains(t, u.Remedy, "go test -timeout")
}

// A goroutine that spins takes the only processor for 10 ms after each span that is swept. The
// program gets all processors back long before such a collection would end, and keeps them for the
// next one.
func TestCollectInACrowd(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	allProcessorsUntil = 0
	runtime.GC()
	require.True(t, worthOneProcessor(), "the heap of these tests is not small any more")
	var stop atomic.Bool
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for !stop.Load() {
		}
	}()
	before := collections()
	err := Collect(context.Background())
	again := worthOneProcessor()
	stop.Store(true)
	<-stopped
	require.NoError(t, err)
	assert.Greater(t, collections(), before)
	assert.Equal(t, 3, runtime.GOMAXPROCS(0))
	assert.False(t, again)
	assert.Positive(t, int64(allProcessorsUntil))
}
