package spike

import (
	"context"
	"testing"
	"time"
)

// Own is memory of the tool's own, which no report includes.
var Own []byte

// SetClock replaces the clock of limits until a test ends.
func SetClock(t *testing.T, clock func() time.Time) {
	now = clock
	t.Cleanup(func() { now = time.Now })
}

// Readings is how many collections all watchers have read.
func Readings() int64 { return readings.Load() }

// SeesGarbage reports whether watchers can subtract what was allocated while a collection marked.
func SeesGarbage() bool {
	counters, _ := findCounters(context.Background())
	return counters != nil
}
