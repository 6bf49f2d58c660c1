package growth

import (
	"runtime"
	"runtime/metrics"

	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
)

// manyLeft bounds how many objects all batches leave together, where each call leaves many. A
// snapshot takes a quarter of a second for each million of them, and thousands for each call tell
// as much after fewer calls.
const manyLeft = 2_000_000

// objectsOfGoroutine is how many objects take as long in a snapshot as a goroutine with its stack.
const objectsOfGoroutine = 50

// fewer returns the size of the first batch: batch, or less if each call leaves so many objects
// that all batches would leave more than manyLeft.
func fewer(batch int, perCall int64) int {
	const all = 1<<(series.Intervals+1) - 1 // calls of all batches, if the first has one
	return min(batch, max(calls.MinBatch, int(manyLeft/all/max(1, perCall))))
}

// A census is how many objects and goroutines there were before the first call.
type census struct{ objects, goroutines int64 }

func takeCensus() census {
	sample := []metrics.Sample{{Name: "/gc/heap/objects:objects"}}
	metrics.Read(sample)
	return census{int64(sample[0].Value.Uint64()), int64(runtime.NumGoroutine())}
}

// fewer returns the size of the first batch after so many calls. Garbage counts until it is
// collected, which happens only where it would make the batch smaller.
func (c census) fewer(batch int, calls int64) int {
	smaller := func() int {
		now := takeCensus()
		return fewer(batch, (now.objects-c.objects+objectsOfGoroutine*(now.goroutines-c.goroutines))/max(1, calls))
	}
	if smaller() == batch {
		return batch
	}
	runtime.GC()
	return smaller()
}
