package leakcheck

import (
	"flag"
	"testing"

	"github.com/leakgate/leakgate/internal/assert"
	"github.com/leakgate/leakgate/internal/require"
)

// benchmarked runs a benchmark of n iterations, and returns the metrics that it reports.
func benchmarked(t *testing.T, n string, f func(b *testing.B)) map[string]float64 {
	t.Helper()
	before := flag.Lookup("test.benchtime").Value.String()
	require.NoError(t, flag.Set("test.benchtime", n))
	defer func() { require.NoError(t, flag.Set("test.benchtime", before)) }()
	return testing.Benchmark(f).Extra
}

var benchBaskets []*basket

func TestReportRetained(t *testing.T) {
	for name, c := range map[string]struct {
		keep           bool
		objects, bytes float64
	}{"leak": {true, 1, 24}, "none": {false, 0, 0}} {
		got := benchmarked(t, "20000x", func(b *testing.B) {
			benchBaskets = make([]*basket, 20000)
			ReportRetained(b)
			i := 0
			for b.Loop() {
				keptBasket = new(basket)
				if c.keep {
					benchBaskets[i] = keptBasket
				}
				i++
			}
		})
		benchBaskets = nil
		// What the benchmark itself leaves is the same for any number of iterations.
		assert.True(t, got["retained-objects/op"] >= c.objects && got["retained-objects/op"] < c.objects+0.1, name, got)
		assert.True(t, got["retained-B/op"] >= c.bytes && got["retained-B/op"] < c.bytes+10, name, got)
	}
}
