package stackprof_test

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/stackprof"
)

// handle has a buffer that is larger than it should be.
//
//go:noinline
func handle(ready chan<- bool, stop <-chan bool) {
	var buffer [32 << 10]byte
	buffer[runtime.NumCPU()] = 1
	ready <- true
	<-stop
	buffer[0]++
}

func Example() {
	ready, stop := make(chan bool), make(chan bool)
	defer close(stop)
	for range 10 {
		go handle(ready, stop)
		<-ready
	}

	p, err := stackprof.Take()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range p.Top() {
		if strings.HasSuffix(f.Name, ".handle") {
			fmt.Printf("%d goroutines, frames of %d KB each\n", f.Goroutines, f.Flat/f.Goroutines>>10)
		}
	}
	// Output: 10 goroutines, frames of 32 KB each
}
