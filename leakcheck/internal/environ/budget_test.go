package environ

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/refscan"
)

// The time that is left ends before the test times out. Without a timeout it does not end.
func TestBudget(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	b := Budget{Now: func() time.Time { return now }, Deadline: now.Add(10 * time.Second), End: now.Add(9 * time.Second)}
	assert.Equal(t, 9*time.Second, b.Left())
	assert.True(t, b.Allows(8*time.Second))
	assert.False(t, b.Allows(9*time.Second))
	now = now.Add(9 * time.Second)
	assert.False(t, b.Allows(0))
	assert.True(t, Budget{}.Allows(1000*time.Hour))

	none := errors.New("no snapshot")
	now = now.Add(740 * time.Millisecond)
	err := b.Spent("2 of 3 snapshots", none)
	assert.ErrorIs(t, err, none)
	assert.ErrorContains(t, err, "the test times out in 300ms, which is too soon to go on: 2 of 3 snapshots")
	assert.ErrorContains(t, err, "raise the timeout (go test -timeout), or let the test take less time")
	assert.ErrorAs(t, err, new(*refscan.UnavailableError))
}

// A context ends with the time, and says whether that was why.
func TestBudgetContext(t *testing.T) {
	far := time.Now().Add(time.Hour)
	for name, b := range map[string]Budget{"no end": {}, "an end": {Now: time.Now, End: far}} {
		ctx, cancel := b.Context()
		assert.NoError(t, ctx.Err(), name)
		cancel()
		<-ctx.Done()
		assert.Equal(t, context.Canceled, ctx.Err(), name)
	}
	over := Budget{Now: func() time.Time { return far.Add(time.Second) }, End: far}
	ctx, cancel := over.Context()
	defer cancel()
	<-ctx.Done()
	assert.Equal(t, context.DeadlineExceeded, ctx.Err())
}

// The test binary times out so long after its start as its flag says.
func TestBinaryDeadline(t *testing.T) {
	assert.Equal(t, 7*time.Second, Uptime(started.Add(7*time.Second)))
	for value, want := range map[string]time.Duration{"10m0s": 10 * time.Minute, "1s": time.Second, "0s": 0, "-1s": 0, "": 0, "soon": 0} {
		withFlags(t, map[string]string{"test.timeout": value})
		deadline, ok := BinaryDeadline()
		assert.Equal(t, want > 0, ok, value)
		if ok {
			assert.Equal(t, want, Uptime(deadline), value)
		}
	}
	withFlags(t, nil)
	_, ok := BinaryDeadline()
	assert.False(t, ok, "another program")
}
