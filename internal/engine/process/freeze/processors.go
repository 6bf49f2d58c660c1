package freeze

import (
	"flag"
	"os"
	"runtime"
	"strconv"
)

// processors is the setting of GOMAXPROCS that useOneProcessor has found. It is a value rather than
// an object on the heap, which a collection meanwhile would find alive.
type processors struct {
	number    int
	automatic bool // the runtime may adjust it
}

// useOneProcessor leaves only the calling goroutine the right to run Go code, as long as it does
// not block. It returns the setting that restore puts back.
//
// runtime.GOMAXPROCS(1) waits for the end of a collection and stops the world, which parks every
// goroutine; when the world starts again, the caller holds the only P. If there was only one P
// before, nothing has to be done: the running goroutine holds it.
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
		return // another goroutine has changed the setting meanwhile, on purpose
	}
	if p.automatic {
		setDefaultProcessors()
	}
	if runtime.GOMAXPROCS(0) != p.number {
		runtime.GOMAXPROCS(p.number)
	}
}

// processorsAutomatic reports whether the runtime may adjust GOMAXPROCS by itself. The runtime does
// not tell (it is sched.customGOMAXPROCS, and GOMAXPROCS(1) has set it by the time of the fork). So
// the function checks for what turns the adjusting off (runtime/debug.go and runtime/proc.go,
// schedinit; Go 1.25 to 1.27): the environment, and a call of GOMAXPROCS, which package testing
// makes before every round of tests (testing/testing.go, runTests). It cannot recognize a program
// outside of tests that has set GOMAXPROCS to just the default: restore turns the adjusting on for
// it.
func processorsAutomatic() bool {
	if n, err := strconv.ParseInt(os.Getenv("GOMAXPROCS"), 10, 32); err == nil && n > 0 {
		return false
	}
	return flag.Lookup("test.cpu") == nil
}
