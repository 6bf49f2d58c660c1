package growth

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
)

// Where each call leaves thousands of objects, or many goroutines, fewer calls follow. Garbage does
// not count.
func TestMostCalls(t *testing.T) {
	var kept []*[2]*int
	leave := func() (before int64) {
		runtime.GC() // garbage from before hides as many objects
		before = alive()
		for range 200_000 {
			kept = append(kept, new([2]*int))
		}
		return before
	}
	before := leave()
	assert.Equal(t, 250, min(250, mostCalls(250, 1<<30, before)))
	n := mostCalls(250, 10, before) // 20,000 objects a call
	assert.True(t, n >= calls.MinBatch && n < 10, n)
	assert.Equal(t, calls.MinBatch, mostCalls(250, 1, before))
	assert.Equal(t, 3, min(3, mostCalls(3, 1, before)))
	runtime.KeepAlive(kept)

	before = leave()
	kept = nil
	assert.Equal(t, 250, min(250, mostCalls(250, 100, before)))

	stop := make(chan bool)
	defer close(stop)
	runtime.GC()
	before = alive()
	for range 2000 {
		go func() { <-stop }()
	}
	n = mostCalls(250, 100, before) // 20 goroutines a call
	assert.True(t, n > 10 && n < 50, n)
}
