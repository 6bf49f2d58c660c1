package freeze

import (
	"flag"
	"os"
	"runtime"
	"strconv"
)

// processors is the setting of GOMAXPROCS that useOneProcessor has found. It is a value, so that it
// is no object on the heap that a collection meanwhile finds alive.
type processors struct {
	number    int
	automatic bool // the runtime may adjust it
}

// useOneProcessor leaves the right to run Go code to the calling goroutine alone, as long as that
// does not block, and returns what undoes it.
//
// runtime.GOMAXPROCS(1) waits for the end of a collection and stops the world, which parks every
// goroutine; when the world starts again, the caller holds the only P. With one P from the start
// there is nothing to do: whoever runs holds it.
func useOneProcessor() (before processors) {
	if before.number = runtime.GOMAXPROCS(0); before.number == 1 {
		return before
	}
	before.automatic = processorsAutomatic()
	runtime.GOMAXPROCS(1)
	return before
}

// restore puts the setting back.
func (p processors) restore() {
	if p.number == 1 || runtime.GOMAXPROCS(0) != 1 {
		return // another goroutine has set it meanwhile, and means it
	}
	if p.automatic {
		setDefaultProcessors()
	}
	if runtime.GOMAXPROCS(0) != p.number {
		runtime.GOMAXPROCS(p.number)
	}
}

// processorsAutomatic tells whether the runtime may be adjusting GOMAXPROCS by itself. The runtime
// does not say (it is sched.customGOMAXPROCS, and GOMAXPROCS(1) has set it by the time of the
// fork), so this goes by what turns the adjusting off (runtime/debug.go and runtime/proc.go,
// schedinit; Go 1.25 to 1.27): the environment, and a call of GOMAXPROCS, which package testing
// makes before every round of tests (testing/testing.go, runTests). A program outside of tests that
// set GOMAXPROCS to just the default is not told apart: it gets the adjusting back.
func processorsAutomatic() bool {
	if n, err := strconv.ParseInt(os.Getenv("GOMAXPROCS"), 10, 32); err == nil && n > 0 {
		return false
	}
	return flag.Lookup("test.cpu") == nil
}
