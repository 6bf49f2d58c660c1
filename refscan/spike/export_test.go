package spike

import (
	"context"
	"testing"
	"time"
)

// SetClock has limits go by another clock until a test ends.
func SetClock(t *testing.T, clock func() time.Time) {
	now = clock
	t.Cleanup(func() { now = time.Now })
}

// Readings is how many collections all watchers have looked at.
func Readings() int64 { return readings.Load() }

// SeesGarbage reports whether what was allocated while a collection marked is told apart from the
// rest here.
func SeesGarbage() bool { return findCounters(context.Background()) != nil }
