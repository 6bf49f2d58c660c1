package leakcheck_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

// A leak of a benchmark: each call leaves something behind, until it is dropped.
type benchLeak struct {
	objects    []*[2]*int
	goroutines sync.WaitGroup
	held       sync.Mutex
	stop       chan struct{}
}

var benchLeaks *benchLeak

func (l *benchLeak) drop() {
	close(l.stop)
	l.held.Unlock()
	l.goroutines.Wait()
}

// start starts a goroutine that ends when the leak is dropped.
func (l *benchLeak) start(f func()) {
	l.goroutines.Add(1)
	go func() {
		defer l.goroutines.Done()
		f()
	}()
}

func (l *benchLeak) keep(n int) {
	for range n {
		l.objects = append(l.objects, new([2]*int))
	}
}

// keepDeep allocates at each level of a deep stack, and keeps one object.
func (l *benchLeak) keepDeep(depth int, below *[2]*int) {
	if depth == 0 {
		l.objects = append(l.objects, below)
		return
	}
	l.keepDeep(depth-1, &[2]*int{new(int)})
}

// What it costs to find growth, beyond three times the calls alone: "beyond-s" in seconds, for
// "calls" of op that take "calls-s".
func BenchmarkAssertNoGrowthFails(b *testing.B) {
	for name, op := range map[string]func(l *benchLeak){
		"object":     func(l *benchLeak) { l.keep(1) },
		"10kObjects": func(l *benchLeak) { l.keep(10_000) },
		"deepStack":  func(l *benchLeak) { l.keepDeep(1000, nil) },
		"goroutine":  func(l *benchLeak) { l.start(func() { <-l.stop }) },
		"waiters": func(l *benchLeak) {
			for range 20 {
				l.start(func() { l.held.Lock(); defer l.held.Unlock() })
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			fillBenchHeap(b, fewObjects)
			begin := func() {
				benchLeaks = &benchLeak{stop: make(chan struct{})}
				benchLeaks.held.Lock()
				runtime.GC()
			}
			var calls int
			var plain time.Duration
			for b.Loop() {
				b.StopTimer()
				begin()
				calls = 0
				t := &recordingT{name: b.Name()}
				b.StartTimer()
				if leakcheck.AssertNoGrowth(t, func() { calls++; op(benchLeaks) }) || len(t.errors) == 0 {
					b.Fatal("it did not fail: ", t.logs)
				}
				b.StopTimer()
				benchLeaks.drop()
				begin()
				start := time.Now()
				for range calls {
					op(benchLeaks)
				}
				plain += time.Since(start)
				benchLeaks.drop()
				b.StartTimer()
			}
			b.StopTimer()
			benchLeaks = nil
			b.ReportMetric(float64(calls), "calls")
			b.ReportMetric(plain.Seconds()/float64(b.N), "calls-s")
			b.ReportMetric((b.Elapsed()-3*plain).Seconds()/float64(b.N), "beyond-s")
		})
	}
}

// The cost of a bound that is broken by all objects on the heap of the benchmark.
func BenchmarkAssertRootFails(b *testing.B) {
	benchmarkFails(b, leakcheck.Root("leakcheck_test.benchHeap").None())
}

func BenchmarkAssertTypeFails(b *testing.B) {
	benchmarkFails(b, leakcheck.TypeNamed("*[12]*int").None())
}

func benchmarkFails(b *testing.B, bound leakcheck.Option) {
	fillBenchHeap(b, manyObjects)
	for b.Loop() {
		t := &recordingT{name: b.Name()}
		if leakcheck.AssertRetained(t, bound) {
			b.Fatal("it did not fail: ", t.logs)
		}
	}
	reportCollections(b)
}
