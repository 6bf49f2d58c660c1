package growth

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
)

// Where each call leaves thousands of objects, fewer calls follow.
func TestFewer(t *testing.T) {
	for _, tt := range []struct {
		batch   int
		perCall int64
		want    int
	}{{250, 0, 250}, {250, 10, 250}, {250, 3000, 44}, {250, 1_000_000, calls.MinBatch}, {3, 1_000_000, 3}} {
		assert.Equal(t, tt.want, fewer(tt.batch, tt.perCall), tt)
	}
}

// The census counts what calls leave, and no garbage.
func TestCensus(t *testing.T) {
	var kept []*[2]*int
	runtime.GC() // garbage from before hides as many objects
	before := takeCensus()
	for range 200_000 {
		kept = append(kept, new([2]*int))
	}
	assert.Equal(t, 250, before.fewer(250, 1<<30))
	n := before.fewer(250, 10) // 20,000 objects a call
	assert.True(t, n >= calls.MinBatch && n < 10, n)
	assert.Equal(t, 3, before.fewer(3, 10))
	runtime.KeepAlive(kept)

	before = takeCensus()
	for range 200_000 {
		kept = append(kept[:0], new([2]*int))
	}
	assert.Equal(t, 250, before.fewer(250, 100))
	stop := make(chan bool)
	defer close(stop)
	runtime.GC()
	before = takeCensus()
	for range 2000 {
		go func() { <-stop }()
	}
	n = before.fewer(250, 100) // 20 goroutines a call
	assert.True(t, n > 50 && n < 200, n)
}
