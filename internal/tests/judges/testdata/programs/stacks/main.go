// A server with the goroutines of the proposal for a profile of stacks (golang/go issue 66566): one
// with an array of 1,000 bytes in its frame, one with 2,000, two with 3,000, and fifty that have once
// called deep. It prints its address.
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"os"
	"runtime/debug"
	"sync"

	"github.com/leakgate/leakgate/stackprof/stackhttp"
)

var (
	ready   sync.WaitGroup
	forever = make(chan bool)
)

func park() {
	ready.Done()
	<-forever
}

//go:noinline
func oneThousand() {
	var frame [1000]byte
	fill(frame[:])
	park()
	fill(frame[:])
}

//go:noinline
func twoThousand() {
	var frame [2000]byte
	fill(frame[:])
	park()
	fill(frame[:])
}

//go:noinline
func threeThousand() {
	var frame [3000]byte
	fill(frame[:])
	park()
	fill(frame[:])
}

// deep calls itself, and waits when it has returned from all but one call.
func deep(n int) {
	var frame [512]byte
	fill(frame[:])
	if n > 0 {
		deep(n - 1)
	}
	fill(frame[:])
}

func calledDeep() {
	deep(100)
	park()
}

//go:noinline
func fill(b []byte) {
	for i := range b {
		b[i] = byte(i)
	}
}

func main() {
	debug.SetGCPercent(-1) // a collection halves stacks of which little is in use
	http.HandleFunc("GET /debug/pprof/stackmem", stackhttp.Profile)
	goroutines := []func(){oneThousand, twoThousand, threeThousand, threeThousand}
	for range 50 {
		goroutines = append(goroutines, calledDeep)
	}
	ready.Add(len(goroutines))
	for _, f := range goroutines {
		go f()
	}
	ready.Wait()
	fmt.Println(httptest.NewServer(http.DefaultServeMux).URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
	close(forever)
}
