// Command processors takes a snapshot and prints what has become of GOMAXPROCS: the number, and
// whether the runtime adjusts it by itself. With an argument it sets the number first.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"

	"github.com/leakgate/leakgate/internal/engine/process/freeze"
)

func main() {
	if len(os.Args) > 1 {
		n, err := strconv.Atoi(os.Args[1])
		check(err)
		runtime.GOMAXPROCS(n)
	}
	for range 3 {
		p, err := freeze.Take()
		check(err)
		check(p.Close())
	}
	fmt.Println(runtime.GOMAXPROCS(0), automatic())
}

// automatic tells whether the runtime adjusts GOMAXPROCS. In that case, and only then,
// SetDefaultGOMAXPROCS need not stop the world (runtime/debug.go, go1.26 and go1.27).
func automatic() bool {
	before := pauses()
	runtime.SetDefaultGOMAXPROCS()
	return pauses() == before
}

func pauses() uint64 {
	sample := []metrics.Sample{{Name: "/sched/pauses/total/other:seconds"}}
	metrics.Read(sample)
	var n uint64
	for _, c := range sample[0].Value.Float64Histogram().Counts {
		n += c
	}
	return n
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
