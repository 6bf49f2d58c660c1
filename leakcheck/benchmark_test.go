package leakcheck

import (
	"flag"
	"strings"
	"sync"
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

// ReportRetained after a loop of b.Loop, or in one, is an error. Whether a loop over b.N is over
// cannot always be told; then nothing is reported.
func TestReportRetainedAfterTheLoop(t *testing.T) {
	fill := func() { keptBasket = new(basket) }
	by := map[string]func(b *testing.B, op func()){
		"b.Loop": func(b *testing.B, op func()) {
			for b.Loop() {
				op()
			}
		},
		"b.N": func(b *testing.B, op func()) {
			for range b.N {
				op()
			}
		},
		"b.RunParallel": func(b *testing.B, op func()) {
			var one sync.Mutex
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					one.Lock()
					op()
					one.Unlock()
				}
			})
		},
		"own clock": func(b *testing.B, op func()) {
			b.StopTimer()
			for range b.N {
				op()
			}
		},
	}
	report := func(b *testing.B) { ReportRetained(b) }
	nothing := func(*testing.B) {}
	for _, c := range []struct {
		loop              string
		before, in, after func(*testing.B)
		op                func()
		failed, reported  bool
	}{
		{"b.Loop", report, nothing, nothing, fill, false, true},
		{"b.Loop", nothing, nothing, report, fill, true, false},
		{"b.Loop", nothing, report, nothing, fill, true, false},
		{"b.N", report, nothing, nothing, fill, false, true},
		{"b.N", nothing, nothing, report, fill, false, false},
		{"b.RunParallel", report, nothing, nothing, fill, false, true},
		{"b.RunParallel", report, nothing, nothing, func() {}, false, true},
		{"b.RunParallel", nothing, nothing, report, fill, false, false},
		{"own clock", report, nothing, nothing, func() {}, false, true},
		{"b.N", func(b *testing.B) {
			for range 5000 {
				fill() // a setup
			}
			b.ResetTimer()
			ReportRetained(b)
		}, nothing, nothing, func() {}, false, true},
	} {
		for _, n := range []string{"100x", "20000x"} {
			failed := false
			got := benchmarked(t, n, func(b *testing.B) {
				b.Cleanup(func() { failed = b.Failed() })
				c.before(b)
				by[c.loop](b, func() { c.op(); c.in(b) })
				c.after(b)
			})
			_, reported := got["retained-B/op"]
			assert.Equal(t, c.failed, failed, c.loop, n)
			assert.Equal(t, c.reported, reported, c.loop, n, got)
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
