package series_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
)

// A chunk that is used up every 1,000 calls or so is told from memory that is mapped once, or ever
// more rarely.
func TestChunksKeepPace(t *testing.T) {
	calls := []int64{250, 500, 1000, 2000, 4000}
	for _, tt := range []struct {
		chunks []int64 // at each snapshot
		want   bool
	}{
		{[]int64{1, 1, 1, 2, 4}, true},
		{[]int64{1, 1, 2, 3, 5}, true},
		{[]int64{1, 2, 2, 4, 7}, true},
		{[]int64{1, 3, 6, 12, 24}, true},
		{[]int64{1, 1, 1, 1, 1}, false},
		{[]int64{1, 1, 1, 2, 3}, false},
		{[]int64{1, 1, 2, 3, 4}, false},
		{[]int64{1, 3, 4, 5, 5}, false},
		{[]int64{1, 1, 1, 1, 6}, false},
		{[]int64{1, 4, 4, 4, 4}, false},
		{[]int64{1, 1, 1, 2}, false},
		{[]int64{2, 1, 2, 4, 8}, false},
	} {
		s := series.Series{Calls: calls[:len(tt.chunks)]}
		for _, n := range tt.chunks {
			s.Values = append(s.Values, n*series.MinChunk)
		}
		assert.Equal(t, tt.want, s.ChunksKeepPace(), tt.chunks)
	}
	small := series.Series{Calls: calls, Values: []int64{1, 1, 1, series.MinChunk / 4, series.MinChunk / 2}}
	assert.False(t, small.ChunksKeepPace())
}

// A stack that gets deeper by a frame every ten calls is told from the first batch on, and from
// goroutines that wait some frames deeper now and then.
func TestFramesKeepPace(t *testing.T) {
	calls := []int64{250, 500, 1000, 2000, 4000}
	for _, tt := range []struct {
		frames []int64
		want   bool
	}{
		{[]int64{30, 55}, true},
		{[]int64{30, 55, 104, 206, 402}, true},
		{[]int64{3, 5, 10, 22, 41}, false},
		{[]int64{11, 13}, false},
		{[]int64{11, 13, 13}, false},
	} {
		s := series.Series{Calls: calls[:len(tt.frames)], Values: tt.frames}
		assert.Equal(t, tt.want, s.FramesKeepPace(), tt.frames)
	}
}
