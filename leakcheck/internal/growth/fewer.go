package growth

import (
	"runtime"
	"runtime/metrics"

	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
)

// manyLeft bounds how many objects the first batch leaves, where each call leaves many: all batches
// together then leave 800,000. A snapshot takes a quarter of a second for each million of them,
// and thousands for each call tell as much after fewer calls.
const manyLeft = 800_000 / (1<<(series.Intervals+1) - 1)

// objectsOfGoroutine is how many objects take as long in a snapshot as a goroutine with its stack.
const objectsOfGoroutine = 200

// alive is how many objects there are, garbage and goroutines included.
func alive() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/objects:objects"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64()) + objectsOfGoroutine*int64(runtime.NumGoroutine())
}

// mostCalls bounds the size of the first batch after so many calls, by how many objects each call
// leaves: all batches together leave no more than manyLeft allows. before is what was alive before
// the calls. Garbage counts until it is collected, which happens only where it would make the batch
// smaller.
func mostCalls(batch int, called, before int64) int {
	for collected := false; ; collected = true {
		left := max(1, (alive()-before)/called)
		n := max(calls.MinBatch, int(manyLeft/left))
		if n >= batch || collected {
			return n
		}
		runtime.GC()
	}
}
