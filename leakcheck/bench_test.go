package leakcheck_test

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/leakgate/leakgate/leakcheck"
)

// benchHeap holds the objects on the heap of a benchmark, as of a test.
var benchHeap []*[12]*int

// Sizes of benchHeap: 20 MB or so; and some thousand objects, as in most tests, which are a
// megabyte with the objects of the test binary itself.
const (
	manyObjects = 200_000
	fewObjects  = 3_000
)

func fillBenchHeap(b *testing.B, objects int) {
	needSnapshots(b)
	for range objects {
		benchHeap = append(benchHeap, new([12]*int))
	}
	b.Cleanup(func() { benchHeap = nil })
}

// reportCollections reports the time of an operation as a multiple of a collection of the same
// heap.
func reportCollections(b *testing.B) {
	perOp := b.Elapsed() / time.Duration(b.N)
	b.StopTimer()
	const times = 20
	start := time.Now()
	for range times {
		runtime.GC()
	}
	one := time.Since(start) / times
	b.ReportMetric(float64(perOp)/float64(one), "GCs/op")
	b.ReportMetric(float64(one), "ns/GC")
}

// The cost of a check of an object that is garbage. ExpectCollected costs the same at the end of a
// test.
func BenchmarkAssertCollected(b *testing.B) {
	fillBenchHeap(b, manyObjects)
	for b.Loop() {
		if !leakcheck.AssertCollected(b, weak.Make(&cutBlob{}), "nothing refers to it") {
			b.FailNow()
		}
	}
	reportCollections(b)
}

// The cost of an op that keeps nothing, and takes no time: counters.
func BenchmarkAssertNoGrowth(b *testing.B) { benchmarkNoGrowth(b, manyObjects) }

// The same with few objects on the heap.
func BenchmarkAssertNoGrowthSmall(b *testing.B) { benchmarkNoGrowth(b, fewObjects) }

// The same in full: two snapshots.
func BenchmarkAssertNoGrowthFull(b *testing.B) {
	benchmarkNoGrowth(b, manyObjects, leakcheck.Full())
}

func BenchmarkAssertNoGrowthFullSmall(b *testing.B) {
	benchmarkNoGrowth(b, fewObjects, leakcheck.Full())
}

func benchmarkNoGrowth(b *testing.B, objects int, opts ...leakcheck.GrowthOption) {
	fillBenchHeap(b, objects)
	work := func() { _ = make([]byte, 100) }
	if !leakcheck.AssertNoGrowth(b, work, opts...) { // the first has to read debug information
		b.FailNow()
	}
	for b.Loop() {
		if !leakcheck.AssertNoGrowth(b, work, opts...) {
			b.FailNow()
		}
	}
	reportCollections(b)
}

// The cost of an assertion that holds and needs a scan: one snapshot.
func BenchmarkAssertRetained(b *testing.B) {
	benchmarkAssert(b, manyObjects, leakcheck.Root("leakcheck_test.cutOwn").None(), leakcheck.Full())
}

// The same with few objects: the costs that do not depend on the heap.
func BenchmarkAssertSmall(b *testing.B) {
	benchmarkAssert(b, fewObjects, leakcheck.Root("leakcheck_test.cutOwn").None(), leakcheck.Full())
}

// The cost if everything that the variable leads to is within the bound.
func BenchmarkAssertRoot(b *testing.B) {
	benchmarkAssert(b, manyObjects, leakcheck.Root("leakcheck_test.cutOwn").None())
}

// The same with few objects.
func BenchmarkAssertRootSmall(b *testing.B) {
	benchmarkAssert(b, fewObjects, leakcheck.Root("leakcheck_test.cutOwn").None())
}

// The same if the variable leads to some thousand of them.
func BenchmarkAssertRootFilled(b *testing.B) {
	benchmarkAssert(b, fewObjects, leakcheck.Root("leakcheck_test.benchHeap").MaxObjects(fewObjects+1))
}

// The cost of a bound on a type that holds.
func BenchmarkAssertType(b *testing.B) {
	benchmarkAssert(b, manyObjects, leakcheck.Type[*cutBlob]().None())
}

// The same with few objects.
func BenchmarkAssertTypeSmall(b *testing.B) {
	benchmarkAssert(b, fewObjects, leakcheck.Type[*cutBlob]().None())
}

// The same with a bound on the memory that cutting would free.
func BenchmarkAssertRetainedCut(b *testing.B) {
	benchmarkAssert(b, manyObjects, leakcheck.Root("leakcheck_test.benchHeap").MaxRetainedObjects(manyObjects+1))
}

func benchmarkAssert(b *testing.B, objects int, opts ...leakcheck.Option) {
	fillBenchHeap(b, objects)
	assert := func() {
		if !leakcheck.AssertRetained(b, opts...) {
			b.FailNow()
		}
	}
	assert() // the first has to read debug information
	for b.Loop() {
		assert()
	}
	reportCollections(b)
}
