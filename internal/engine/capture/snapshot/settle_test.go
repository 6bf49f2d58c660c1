package snapshot

import (
	"context"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/runtime/gcwatch"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// settle waits for rest as long as anything other than allocations may come to an end.
func TestSettled(t *testing.T) {
	before := activity{allocated: 1000, fallenDue: 5, goroutines: 3}
	quiet, busy := before, before
	quiet.allocated += ownAllocations
	busy.allocated += 1e6
	due, waits, ended := busy, busy, busy
	due.fallenDue++
	waits.waiting = true
	ended.goroutines--
	const short, long = longEnough / 2, longEnough * 2
	for name, tt := range map[string]struct {
		now           activity
		cycle         int
		took          time.Duration
		rests, enough bool
	}{
		"one collection is too few":       {quiet, 1, long, false, false},
		"at rest":                         {quiet, 2, short, true, true},
		"allocates":                       {busy, 3, short, false, false},
		"allocates, and had time":         {busy, 3, long, false, true},
		"had time, but too few":           {busy, 2, long, false, false},
		"allocates all the time":          {busy, 10, short, false, true},
		"a finalizer fell due":            {due, 9, long, false, false},
		"a finalizer has not run":         {waits, 9, long, false, false},
		"a goroutine ended":               {ended, 9, long, false, false},
		"goroutines end, again and again": {ended, 10, long, false, true},
		"at rest after the last":          {quiet, 10, long, true, true},
	} {
		rests, enough := tt.now.settled(&before, tt.cycle, tt.took)
		assert.Equal(t, tt.rests, rests, name)
		assert.Equal(t, tt.enough, enough, name)
	}
}

// A watch of collections runs a finalizer for each, which is no reason to wait for another
// collection.
func TestWatchedProgramRests(t *testing.T) {
	w := gcwatch.Start()
	defer w.Stop()
	for range 50 {
		rests, err := settle(context.Background())
		require.NoError(t, err)
		if rests {
			return
		}
	}
	assert.Fail(t, "the program never rests")
}
