package leakcheck

import (
	"flag"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
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
		// The memory that the benchmark itself leaves is the same for any number of iterations.
		assert.True(t, got["retained-objects/op"] >= c.objects && got["retained-objects/op"] < c.objects+0.1, name, got)
		assert.True(t, got["retained-B/op"] >= c.bytes && got["retained-B/op"] < c.bytes+10, name, got)
	}
}

// ReportRetained after the loop is an error, whatever the loop is.
func TestReportRetainedAfterTheLoop(t *testing.T) {
	for name, loop := range map[string]func(b *testing.B){
		"b.Loop": func(b *testing.B) {
			for b.Loop() {
				keptBasket = new(basket)
			}
		},
		"b.N": func(b *testing.B) {
			for range b.N {
				keptBasket = new(basket)
			}
		},
	} {
		for _, after := range []bool{true, false} {
			failed := false
			benchmarked(t, "1000000x", func(b *testing.B) {
				b.Cleanup(func() { failed = failed || b.Failed() })
				if !after {
					ReportRetained(b)
				}
				loop(b)
				if after {
					ReportRetained(b)
				}
			})
			assert.Equal(t, after, failed, name)
		}
	}
}

// Counts by type are those of one call of op, in benchmarks of either form.
func TestReportAllocs(t *testing.T) {
	op := func() {
		for range 3 {
			keptBasket = new(basket)
		}
		keptLog = append([]string(nil), "a", "b", "c")
	}
	loops := map[string]func(b *testing.B){
		"b.Loop": func(b *testing.B) {
			for b.Loop() {
				op()
			}
		},
		"b.N": func(b *testing.B) {
			for range b.N {
				op()
			}
		},
	}
	for name, loop := range loops {
		got := benchmarked(t, "10x", func(b *testing.B) {
			ReportAllocs(b, op, Type[*basket](), TypeNamed("leakcheck.bask*"), Type[[]string](), Type[*strings.Builder]())
			loop(b)
		})
		want := map[string]float64{
			"leakcheck.basket-allocs/op": 3, "leakcheck.bask*-allocs/op": 3, "[]string-allocs/op": 1, "strings.Builder-allocs/op": 0,
		}
		assert.Equal(t, want, got, name)
	}
	got := benchmarked(t, "10x", func(b *testing.B) { ReportAllocs(b, op) })
	assert.Equal(t, map[string]float64{"leakcheck.basket-allocs/op": 3, "[]string-allocs/op": 1}, got)
}

// A pattern that matches no type, and a selector that is not by type, fail the benchmark.
func TestReportAllocsMisuse(t *testing.T) {
	for name, f := range map[string]func(b *testing.B){
		"no such type": func(b *testing.B) { ReportAllocs(b, func() {}, TypeNamed("leakcheck.nothingOfThatName")) },
		"a root":       func(b *testing.B) { ReportAllocs(b, func() {}, Root("leakcheck.keptLog")) },
		"no op":        func(b *testing.B) { ReportAllocs(b, nil) },
	} {
		failed := false
		benchmarked(t, "1x", func(b *testing.B) {
			f(b)
			failed = b.Failed()
		})
		assert.True(t, failed, name)
	}
}

var keptLog []string
