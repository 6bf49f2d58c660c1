// Package parallel shares work among goroutines.
package parallel

import (
	"iter"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// Do calls work(0) to work(n-1), each in a goroutine of its own, and waits for them; with n == 1 it
// calls work(0) itself. If a call panics, as from a damaged image, or faults in the image's memory,
// Do panics with the same value when all have ended.
func Do(n int, work func(i int)) {
	if n == 1 {
		work(0)
		return
	}
	done := make(chan any)
	for i := range n {
		go func() {
			defer func() { done <- recover() }()
			debug.SetPanicOnFault(true)
			work(i)
		}()
	}
	var failure any
	for range n {
		if e := <-done; e != nil {
			failure = e
		}
	}
	if failure != nil {
		panic(failure)
	}
}

// Share shares the numbers below n among workers: it calls work as Do does, with a sequence of
// numbers that no other worker has. A worker takes some numbers in a row each time, the lowest that
// are left. If it stops early, nobody gets the rest of these.
func Share(workers, n, some int, work func(worker int, numbers iter.Seq[int])) {
	var taken atomic.Int64
	Do(workers, func(i int) {
		work(i, func(yield func(int) bool) {
			for {
				end := int(taken.Add(int64(some)))
				for k := end - some; k < min(end, n); k++ {
					if !yield(k) {
						return
					}
				}
				if end >= n {
					return
				}
			}
		})
	})
}

// smallHeap is the number of object slots below which one goroutine does everything, since it takes
// longer to start more.
const smallHeap = 1 << 15

// Workers returns how many goroutines should share the work on a heap, given the number of its
// object slots.
func Workers(slots uint32) int {
	if slots < smallHeap {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}
