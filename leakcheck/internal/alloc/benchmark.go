package alloc

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// ReportRetained adds the metrics retained-B/op and retained-objects/op to a benchmark's results:
// what its iterations from here on leave on the heap.
func ReportRetained(b *testing.B) {
	b.Helper()
	b.StopTimer()
	objects, bytes := onHeap()
	b.Cleanup(func() { // the timer is stopped, and b.N is what was run
		if b.Failed() || b.N == 0 {
			return
		}
		nowObjects, nowBytes := onHeap()
		b.ReportMetric(perIteration(nowBytes-bytes, b.N), "retained-B/op")
		b.ReportMetric(perIteration(nowObjects-objects, b.N), "retained-objects/op")
	})
	b.StartTimer()
}

// perIteration is at least 0: what was left from before may have gone meanwhile.
func perIteration(n int64, iterations int) float64 { return float64(max(n, 0)) / float64(iterations) }

// onHeap returns what is on the heap after garbage collections: two, since a pool, and an object
// with a finalizer, outlive one.
func onHeap() (objects, bytes int64) {
	runtime.GC()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/objects:objects"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64()), int64(sample[1].Value.Uint64())
}
