package leakcheck_test

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/leakgate/leakgate/leakcheck"
)

// benchHeap is what a test may have on its heap.
var benchHeap []*[12]*int

// What benchHeap holds: 20 MB or so; and some thousand objects, as in most tests, which are a
// megabyte with what the test binary has itself.
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

// reportCollections gives the time of an operation in collections of the same heap.
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

// What a check of an object that is garbage costs: that of ExpectCollected at the end of a test is
// the same.
func BenchmarkAssertCollected(b *testing.B) {
	fillBenchHeap(b, manyObjects)
	for b.Loop() {
		if !leakcheck.AssertCollected(b, weak.Make(&cutBlob{}), "nothing refers to it") {
			b.FailNow()
		}
	}
	reportCollections(b)
}

// What an op that keeps nothing, and takes no time, costs: counters.
func BenchmarkAssertNoGrowth(b *testing.B) { benchmarkNoGrowth(b, manyObjects) }

// The same where there is little to look at.
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

// What an assertion that holds costs that a scan has to prove: one snapshot.
func BenchmarkAssertRetained(b *testing.B) {
	benchmarkAssert(b, manyObjects, leakcheck.Root("leakcheck_test.cutOwn").None(), leakcheck.Full())
}

// The same where there is little to look at: what does not depend on the heap.
func BenchmarkAssertSmall(b *testing.B) {
	benchmarkAssert(b, fewObjects, leakcheck.Root("leakcheck_test.cutOwn").None(), leakcheck.Full())
}

// What it costs where all that the variable leads to is within the bound.
func BenchmarkAssertRoot(b *testing.B) {
	benchmarkAssert(b, manyObjects, leakcheck.Root("leakcheck_test.cutOwn").None())
}

// The same with few objects.
func BenchmarkAssertRootSmall(b *testing.B) {
	benchmarkAssert(b, fewObjects, leakcheck.Root("leakcheck_test.cutOwn").None())
}

// And where the variable leads to some thousand of them.
func BenchmarkAssertRootFilled(b *testing.B) {
	benchmarkAssert(b, fewObjects, leakcheck.Root("leakcheck_test.benchHeap").MaxObjects(fewObjects+1))
}

// What a bound on a type costs that holds.
func BenchmarkAssertType(b *testing.B) {
	benchmarkAssert(b, manyObjects, leakcheck.Type[*cutBlob]().None())
}

// The same with few objects.
func BenchmarkAssertTypeSmall(b *testing.B) {
	benchmarkAssert(b, fewObjects, leakcheck.Type[*cutBlob]().None())
}

// The same with a bound on what cutting would free.
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
