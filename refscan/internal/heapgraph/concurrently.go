package heapgraph

import "runtime/debug"

// concurrently calls work(0) to work(n-1), each in a goroutine of its own, and waits for them. A panic of one, as from a damaged image, or
// a fault in the image's memory, becomes the caller's.
func concurrently(n int, work func(i int)) {
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
