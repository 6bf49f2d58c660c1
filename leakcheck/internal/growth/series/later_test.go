package series_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
)

// What is gone after a wait is told from what stays, and from what is there in part.
func TestGoneLater(t *testing.T) {
	calls := []int64{100, 200, 400, 800, 1600}
	for _, tt := range []struct {
		what          string
		values        []int64
		later         int64 // after 800 calls more
		thinned, gone bool
	}{
		{"all of a window", calls, 800, true, true},
		{"all of a window, and what was there before", []int64{107, 207, 407, 807, 1607}, 807, true, true},
		{"all of a window of two a call", []int64{200, 400, 800, 1600, 3200}, 1600, true, true},
		{"the last calls are gone, too", calls, 1, true, true},
		{"one of a hundred stays", calls, 816, true, true},
		{"one of ten stays", calls, 960, true, false},
		{"one is taken away for each that comes", calls, 1600, true, false},
		{"nothing is gone", calls, 2400, false, false},
		{"a tenth is gone", calls, 2240, false, false},
		{"it did not grow", []int64{5, 5, 5, 5, 5}, 5, false, false},
	} {
		s := series.Series{Calls: calls, Values: tt.values, LaterCalls: 2400, Later: tt.later}
		assert.Equal(t, tt.thinned, s.Thinned(), tt.what)
		assert.Equal(t, tt.gone, s.Gone(), tt.what)
		assert.Equal(t, tt.gone, s.Grown() > 0 && !s.CountsKeepPace(), tt.what)
	}
	// The last of further batches is the one before the wait.
	s := series.Series{Calls: calls, Values: calls, MoreCalls: []int64{2000}, More: []int64{2000}, LaterCalls: 2800, Later: 800}
	assert.True(t, s.Thinned() && s.Gone())
	s.Later = 2800
	assert.False(t, s.Thinned() || s.Gone())
	s = series.Series{Calls: calls, Values: calls}
	assert.False(t, s.Thinned() || s.Gone() || !s.CountsKeepPace())
}
