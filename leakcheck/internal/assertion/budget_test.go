package assertion

import (
	"context"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// An assertion ends before its test times out, by a part of the time that is left, within bounds.
func TestBudget(t *testing.T) {
	w := newWorld(t)
	for timeout, reserve := range map[time.Duration]time.Duration{
		time.Second:      environ.MinReserve,
		20 * time.Second: time.Second,
		time.Hour:        environ.MaxReserve,
	} {
		b := w.Budget(&fakeT{timeout: timeout})
		assert.Equal(t, worldBegan.Add(timeout), b.Deadline)
		assert.Equal(t, timeout-reserve, b.Left(), timeout)
	}
	assert.True(t, w.Budget(&fakeT{}).End.IsZero())
	type mute struct{ environ.TestingT } // without Deadline
	assert.True(t, w.Budget(mute{}).End.IsZero())
}

// A program that does not come to rest in time is not waited for.
func TestObserveInTime(t *testing.T) {
	w := newWorld(t)
	w.Observe = func(ctx context.Context, _ observe.Needs) (*observe.Observation, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	o := w.begin(&fakeT{timeout: environ.MinReserve + time.Millisecond}, atMost(1, "app.sessions")).Judge()
	assert.Contains(t, o.Message, "the test times out in 500ms, which is too soon to go on: the program had not settled, or the scan had not ended")
	assert.ErrorIs(t, o.Err, context.DeadlineExceeded)
}
