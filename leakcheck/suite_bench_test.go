package leakcheck_test

import (
	"testing"
	"weak"

	"github.com/leakgate/leakgate/leakcheck"
)

// A suiteKind is a kind of passing assertion, with its number in the suite.
type suiteKind struct {
	name   string
	times  int // in a suite of 200
	assert func() bool
}

func suiteKinds(b *testing.B) []suiteKind {
	b.Setenv("LEAKGATE_GOLDENS", b.TempDir()) // the golden file is made by the first assertion
	base := leakcheck.TakeBaseline(b)
	retained := func(opts ...leakcheck.Option) func() bool {
		return func() bool { return leakcheck.AssertRetained(b, opts...) }
	}
	return []suiteKind{
		{"Root", 40, retained(leakcheck.Root("leakcheck_test.cutOwn").None())},
		{"Type", 40, retained(leakcheck.Type[*cutBlob]().None())},
		{"TypeNamed", 10, retained(leakcheck.TypeNamed("context.cancelCtx").MaxObjects(100))},
		{"Path", 10, retained(leakcheck.Path("leakcheck_test.benchHeap").MaxObjects(fewObjects + 1))},
		{"Golden", 20, retained(leakcheck.Golden("suite"))},
		{"Since", 10, retained(leakcheck.Type[*cutBlob]().None(), leakcheck.Since(base))},
		{"Goroutines", 20, retained(leakcheck.Goroutines("leakcheck_test.(*benchLeak).start").None())},
		{"NoGrowth", 30, func() bool { return leakcheck.AssertNoGrowth(b, func() { _ = make([]byte, 100) }) }},
		{"Collected", 20, func() bool { return leakcheck.AssertCollected(b, weak.Make(&cutBlob{}), "nothing refers to it") }},
	}
}

// The cost of a suite of 200 assertions that pass, with few objects; and of an assertion of each
// kind.
func BenchmarkSuite(b *testing.B) {
	fillBenchHeap(b, fewObjects)
	kinds := suiteKinds(b)
	for _, k := range kinds {
		if !k.assert() { // the first has to read debug information, or makes a file
			b.FailNow()
		}
	}
	b.Run("All", func(b *testing.B) {
		for b.Loop() {
			for _, k := range kinds {
				for range k.times {
					if !k.assert() {
						b.FailNow()
					}
				}
			}
		}
	})
	for _, k := range kinds {
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				if !k.assert() {
					b.FailNow()
				}
			}
		})
	}
}
