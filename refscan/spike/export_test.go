package spike

import (
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
