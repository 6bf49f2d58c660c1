// A program that watches itself, and holds 10 MiB for long and twice 24 MiB for a while. Its arguments
// are a folder for what it finds, and whether its memory is limited.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/refscan/spike"
)

const mib = 1 << 20

var longLived = make([]byte, 10*mib)

// rand is what the program does as a rule.
func rand() {
	for range 100 {
		sink = make([]byte, 10<<10)
	}
	runtime.GC()
}

var sink []byte

// until collects garbage until something is there.
func until[T any](c <-chan T) (v T) {
	for {
		select {
		case v = <-c:
			return v
		default:
			rand()
		}
	}
}

// limit leaves the process little more memory than it has.
func limit() {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	var kib uint64
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmData: %d kB", &kib); err == nil {
			break
		}
	}
	bytes := kib<<10 + 40*mib
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		panic(err)
	}
}

//go:noinline
func holdForAWhile(spikes <-chan *spike.Spike) *spike.Spike {
	var rows [][]byte
	// A collection in between would be a spike of some of them, of which the memory profiler has yet to
	// publish where they were allocated. One that is under way would take the first of them for usual.
	percent := debug.SetGCPercent(-1)
	runtime.GC()
	for range 24 {
		rows = append(rows, make([]byte, mib))
	}
	debug.SetGCPercent(percent)
	s := until(spikes)
	rows[0][0] = 1
	runtime.KeepAlive(rows)
	return s
}

// holdBriefly holds rows until a collection that is none of runtime.GC has ended.
//
//go:noinline
func holdBriefly() {
	var rows [][]byte
	percent := debug.SetGCPercent(-1)
	for range 24 {
		rows = append(rows, make([]byte, mib))
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.NumGC
	for debug.SetGCPercent(0); m.NumGC == before; runtime.ReadMemStats(&m) {
		sink = make([]byte, 64<<10)
	}
	debug.SetGCPercent(percent)
	runtime.KeepAlive(rows)
}

// brief prints many spikes that are over when a snapshot is taken.
func brief() {
	spikes := make(chan *spike.Spike, 1)
	w, err := spike.Start(spike.Config{Share: 0.2, Bytes: 8 * mib, Interval: time.Nanosecond, PerDay: 1000, OnSpike: func(s *spike.Spike) { spikes <- s }})
	if err != nil {
		panic(err)
	}
	until(w.Ready())
	for range 20 {
		holdBriefly()
		fmt.Println(<-spikes)
		for range 9 {
			rand()
		}
	}
	w.Stop()
	longLived[0] = 1
}

func main() {
	dir := os.Args[1]
	if dir == "brief" {
		brief()
		return
	}
	spikes := make(chan *spike.Spike, 1)
	w, err := spike.Start(spike.Config{Share: 0.2, Bytes: 8 * mib, Interval: time.Nanosecond, PerDay: 2, OnSpike: func(s *spike.Spike) { spikes <- s }})
	if err != nil {
		panic(err)
	}
	until(w.Ready())
	if len(os.Args) > 2 {
		limit()
	}
	for range 2 {
		s := holdForAWhile(spikes)
		fmt.Println(s)
		fmt.Printf("cycle > 0: %v, live %d MiB, usual %d MiB, held: %v, left out: %d, profiles: %v, report: %v\n",
			s.Cycle > 0, s.Live/mib, s.Usual/mib, s.Held, s.LeftOut, len(s.HeapBase) > 0 && len(s.Heap) > 0, s.Report != nil)
		if _, err := s.WriteFolder(dir); err != nil {
			panic(err)
		}
		for range 3 {
			rand()
		}
	}
	fmt.Println("goroutines while it runs:", runtime.NumGoroutine())
	w.Stop()
	w.Stop()
	<-w.Ready()
	for runtime.NumGoroutine() > 1 { // one that has told that it ends
		runtime.Gosched()
	}
	fmt.Println("stopped")
	longLived[0] = 1
}
