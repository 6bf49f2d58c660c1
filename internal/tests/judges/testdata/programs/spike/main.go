// A server that holds 10 MB for long, with requests that allocate a little, and requests that hold
// 10 MB more for a moment: the example that holmes came with. With the argument "inside" it watches
// itself with leakgate, and prints each spike; otherwise with holmes, whose profiles go to the
// folder that the argument names.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"mosn.io/holmes"

	"github.com/leakgate/leakgate/refscan/spike"
)

const (
	mb     = 1 << 20
	spikes = 8
)

var (
	longLived = make([]byte, 10*mb)
	sink      []byte
)

//go:noinline
func randAlloc() []byte { return make([]byte, 10<<10) }

func spikeAlloc() []byte { return make([]byte, 10*mb) } // inlined

func rand(w http.ResponseWriter, _ *http.Request) {
	for range 200 {
		sink = randAlloc()
	}
	fmt.Fprintln(w, "ok")
}

// spikeRequest holds its memory until a collection has ended, and uses nothing but its length after
// that. The collection begins after the allocation: SetGCPercent waits for one that is under way, to
// which all that is allocated meanwhile is alive.
func spikeRequest(w http.ResponseWriter, _ *http.Request) {
	percent := debug.SetGCPercent(-1)
	b := spikeAlloc()
	debug.SetGCPercent(percent)
	n := len(b)
	untilCollected()
	runtime.KeepAlive(b)
	fmt.Fprintln(w, n)
}

func untilCollected() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for before := m.NumGC; m.NumGC == before; runtime.ReadMemStats(&m) {
		sink = randAlloc()
	}
}

func get(server *httptest.Server, path string) {
	r, err := http.Get(server.URL + path)
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
}

// until makes requests that allocate little until a channel is closed.
func until[T any](server *httptest.Server, closed <-chan T) {
	for {
		get(server, "/rand")
		select {
		case <-closed:
			return
		default:
		}
	}
}

// settle makes requests that allocate little until ten collections have ended.
func settle(server *httptest.Server) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for before := m.NumGC; m.NumGC < before+10; runtime.ReadMemStats(&m) {
		get(server, "/rand")
	}
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/rand", rand)
	mux.HandleFunc("/spike", spikeRequest)
	server := httptest.NewServer(mux)
	input := bufio.NewReader(os.Stdin)
	told := func() { _, _ = input.ReadString('\n') } // who watches from outside says so
	if os.Args[1] == "inside" {
		told = watchInside(server)
	} else {
		watchByHolmes(os.Args[1])
		watched := make(chan bool)
		go func() {
			told()
			close(watched)
		}()
		until(server, watched)
	}
	for range spikes {
		settle(server)
		get(server, "/spike")
		told()
	}
	longLived[0] = 1
}

// watchByHolmes begins to watch with holmes: a live heap 20 % above the mean of ten collections is a
// spike.
func watchByHolmes(folder string) {
	h, err := holmes.New(holmes.WithDumpPath(folder), holmes.WithBinaryDump(), holmes.WithLogger(nil),
		holmes.WithMemoryLimit(100*mb), holmes.WithGCHeapDump(10, 20, 90, time.Millisecond))
	if err != nil {
		panic(err)
	}
	h.EnableGCHeapDump().Start()
}

// watchInside begins to watch with leakgate. The function that it returns prints the next spike.
func watchInside(server *httptest.Server) (told func()) {
	found := make(chan *spike.Spike, spikes)
	w, err := spike.Start(spike.Config{Share: 0.2, Bytes: 4 * mb, Interval: time.Nanosecond, PerDay: 1000, OnSpike: func(s *spike.Spike) { found <- s }})
	if err != nil {
		panic(err)
	}
	until(server, w.Ready())
	return func() { fmt.Println(<-found) }
}
