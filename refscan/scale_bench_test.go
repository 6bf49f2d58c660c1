//go:build go1.26

package refscan_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

type scaled struct {
	_ *scaled
	n int
}

//go:noinline
func sink(depth int, wait chan struct{}, p *scaled) int {
	if depth == 0 {
		<-wait
		return 0
	}
	return sink(depth-1, wait, p) + p.n
}

// crowds are kinds of which a program may have very many. Each makes so many, and returns what ends
// them, and what keeps them alive.
var crowds = map[string]func(n int) (end func(), keep any){
	"mutex": func(n int) (func(), any) {
		var mu sync.Mutex
		mu.Lock()
		return waiters(n, func() {
			mu.Lock()
			defer mu.Unlock()
		}, mu.Unlock), nil
	},
	"cond": func(n int) (func(), any) {
		mu := new(sync.Mutex)
		c, open := sync.NewCond(mu), false
		return waiters(n, func() {
			mu.Lock()
			defer mu.Unlock()
			for !open {
				c.Wait()
			}
		}, func() {
			mu.Lock()
			defer mu.Unlock()
			open = true
			c.Broadcast()
		}), nil
	},
	"channel": func(n int) (func(), any) {
		c := make(chan int)
		return waiters(n, func() { <-c }, func() { close(c) }), nil
	},
	"select": func(n int) (func(), any) {
		c, other := make(chan int), make(chan int)
		return waiters(n, func() {
			select {
			case <-c:
			case <-other:
			}
		}, func() { close(c) }), nil
	},
	"timer": func(n int) (func(), any) {
		list := make([]*time.Timer, n)
		for i := range list {
			list[i] = time.AfterFunc(time.Hour, func() { runtime.KeepAlive(i) })
		}
		return func() {
			for _, t := range list {
				t.Stop()
			}
		}, list
	},
	"finalizer": func(n int) (func(), any) {
		list := make([]*scaled, n)
		for i := range list {
			list[i] = &scaled{n: i}
			runtime.SetFinalizer(list[i], func(*scaled) {})
		}
		return func() {}, list
	},
	"map": func(n int) (func(), any) {
		list := make([]map[int]*scaled, n)
		for i := range list {
			list[i] = map[int]*scaled{i: {n: i}}
		}
		return func() {}, list
	},
	"frame": func(n int) (func(), any) {
		wait := make(chan struct{})
		return waiters(1, func() { sink(n, wait, &scaled{}) }, func() { close(wait) }), nil
	},
}

// waiters starts goroutines that wait. The function that it returns lets them go on, and waits for
// their end.
func waiters(n int, wait, release func()) (end func()) {
	var all sync.WaitGroup
	for range n {
		all.Go(wait)
	}
	time.Sleep(time.Duration(n) * 2 * time.Microsecond)
	return func() {
		release()
		all.Wait()
	}
}

// BenchmarkCrowds prints how long a snapshot and a scan take with ten thousand and with a hundred
// thousand of a kind. Beyond what a scan takes anyway, the second has to be about ten times the
// first.
func BenchmarkCrowds(b *testing.B) {
	for kind, crowd := range crowds {
		b.Run(kind, func(b *testing.B) {
			var took [2]time.Duration
			for i, n := range []int{10_000, 100_000} {
				end, keep := crowd(n)
				start := time.Now()
				for range b.N {
					s, err := refscan.Capture()
					require.NoError(b, err)
					_, err = s.Scan()
					require.NoError(b, err)
					require.NoError(b, s.Close())
				}
				took[i] = time.Since(start) / time.Duration(b.N)
				end()
				runtime.KeepAlive(keep)
			}
			b.ReportMetric(took[0].Seconds()*1000, "ms-of-10k")
			b.ReportMetric(took[1].Seconds()*1000, "ms-of-100k")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "times")
		})
	}
}
