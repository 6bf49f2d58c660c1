// Command importer imports what users' tests import, and says what that alone has changed in the process.
package main

import (
	"flag"
	"fmt"
	"runtime"

	_ "github.com/leakgate/leakgate/golden"
	_ "github.com/leakgate/leakgate/leakcheck"
	_ "github.com/leakgate/leakgate/refscan"
	_ "github.com/leakgate/leakgate/stackprof"
)

func main() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var flags []string
	flag.VisitAll(func(f *flag.Flag) { flags = append(flags, f.Name) })
	fmt.Printf("%d collections, profile rate %d, %d goroutines, flags %v\n", m.NumGC, runtime.MemProfileRate, runtime.NumGoroutine(), flags)
	runtime.MemProfile(nil, false) // the rate is 0 in programs that do not ask for the profile
}
