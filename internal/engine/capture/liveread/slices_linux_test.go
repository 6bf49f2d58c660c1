package liveread_test

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A sliceHolder is an object that contains a slice header.
type sliceHolder struct {
	about string
	names []string
}

var holder *sliceHolder

// Slices in objects are watched, or the watch says that they cannot be watched: also if
// collections end and spans are added while it reads.
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
		s, err := proof.WatchSlices(t.Context(), t.Logf)
		if err != nil {
			continue
		}
		require.Equal(t, int64(0), s.Unwatched())
		watched++
		holder.names = append(holder.names, "started", "started")
		each, some, err := s.GotLonger(2)
		require.True(t, each && some || err != nil)
	}
	t.Logf("watched in %d rounds of %d", watched, rounds)
	require.True(t, watched > 0)
}

// Slices that calls make longer by different numbers go on to grow, or do not. The numbers are
// large, since other slices of the process grow a little, too.
func TestSlicesGoOn(t *testing.T) {
	const calls = 1000
	tests := []struct {
		name   string
		by     []int // elements, in batches of so many calls
		each   bool
		wentOn []bool
	}{
		{"one a call", []int{1000, 1000, 1000}, true, []bool{true, true}},
		{"some calls", []int{700, 600, 800}, false, []bool{true, true}},
		{"up and down", []int{700, -300, 500}, false, []bool{false, false}},
		{"once", []int{700, 600, 0}, false, []bool{true, false}},
		{"much more later", []int{300, 900, 300}, false, []bool{false, false}},
	}
	defer func() { holder = nil }()
	for _, tt := range tests {
		holder = &sliceHolder{names: make([]string, 100, 4000)}
		s, err := proof.WatchSlices(t.Context(), t.Logf)
		require.NoError(t, err)
		grow := func(by int) { holder.names = holder.names[:len(holder.names)+by] }
		grow(tt.by[0])
		each, some, err := s.GotLonger(calls)
		require.NoError(t, err)
		require.Equal(t, tt.each, each, tt.name)
		require.True(t, some, tt.name)
		for i, want := range tt.wentOn {
			grow(tt.by[i+1])
			got, err := s.WentOn()
			require.NoError(t, err)
			require.Equal(t, want, got, tt.name)
		}
	}
}

var queues struct {
	ints  chan int
	words chan string
	sem   chan struct{}
}

// The channels count that have as many elements more for each call.
func TestQueues(t *testing.T) {
	const calls, room = 100, 1000
	tests := []struct {
		name          string
		sent          func(i int)
		perCall, left int
	}{
		{"one a call", func(int) { queues.ints <- 1 }, 1, 900},
		{"the fuller one", func(int) { queues.ints <- 1; queues.words <- "a"; queues.words <- "b" }, 2, 800},
		{"some calls", func(i int) {
			if i%3 == 0 {
				queues.ints <- 1
			}
		}, 0, 0},
		{"received", func(int) { queues.ints <- 1; <-queues.ints }, 0, 0},
		{"elements without a size", func(int) { queues.sem <- struct{}{} }, 0, 0},
	}
	for _, tt := range tests {
		queues.ints, queues.words, queues.sem = make(chan int, room), make(chan string, room), make(chan struct{}, room)
		s, err := proof.WatchSlices(t.Context(), t.Logf)
		require.NoError(t, err)
		for i := range calls {
			tt.sent(i)
		}
		perCall, left, err := s.Queue(calls)
		require.NoError(t, err)
		require.Equal(t, tt.perCall, perCall, tt.name)
		require.Equal(t, tt.left, left, tt.name)
	}
}

// A slice counts whose pointer, length and capacity lie somewhere in the frame of a goroutine that
// waits.
func TestSlicesInFrames(t *testing.T) {
	const calls, room = 1000, 10_000
	jobs, done := make(chan int), make(chan int)
	defer close(jobs)
	go func() {
		seen := make([]int, 0, room)
		for j := range jobs {
			seen = append(seen, j)
			done <- len(seen)
		}
	}()
	do := func() {
		jobs <- 1
		<-done
		for range 100 { // the goroutine is about to wait
			runtime.Gosched()
		}
	}
	do()
	for _, grows := range []bool{true, false} {
		s, err := proof.WatchSlices(t.Context(), t.Logf)
		require.NoError(t, err)
		for i := 0; grows && i < calls; i++ {
			do()
		}
		each, _, err := s.GotLonger(calls)
		require.NoError(t, err)
		require.Equal(t, grows, each)
	}
}
