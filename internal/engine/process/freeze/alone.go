package freeze

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
)

// taking serializes snapshots: two that change GOMAXPROCS at once would restore each other's
// setting.
var taking sync.Mutex

// TakeWhen and WhenReady return an error that wraps ErrNotReady if ready never returned true.
var ErrNotReady = errors.New("the process was never ready to be frozen")

// OnOneProcessor calls f while no other goroutine has the right to run Go code. It reports whether
// GOMAXPROCS stayed 1 meanwhile. It waits for the end of a collection that is under way, and stops
// the world twice, for some ten microseconds.
//
// OnOneProcessor does not tell f that the caller is preempted in it: if that matters, f has to find
// out by itself.
func OnOneProcessor(f func()) (alone bool) {
	taking.Lock()
	defer taking.Unlock()
	_, alone = onOneProcessor(func() bool { return true }, f)
	return alone
}

// WhenReady is OnOneProcessor at a moment at which ready returns true. If there is no such moment
// for some seconds, it returns ErrNotReady and does not call f.
func WhenReady(ready func() bool, f func()) (alone bool, err error) {
	taking.Lock()
	defer taking.Unlock()
	called, alone := whenReady(ready, f)
	if !called {
		return false, ErrNotReady
	}
	return alone, nil
}

// whenReady calls f once, while no other goroutine runs, at a moment when the process is ready. It
// tries for maxReadyWait and at least minReadyTries times. One try may take long: useOneProcessor
// waits for the end of a collection. The caller holds taking.
func whenReady(ready func() bool, f func()) (called, alone bool) {
	deadline := realtime.Clock() + maxReadyWait
	for try := 1; !called && (try <= minReadyTries || realtime.Clock() < deadline); try++ {
		called, alone = onOneProcessor(ready, f)
	}
	return called, alone
}

func onOneProcessor(ready func() bool, f func()) (called, alone bool) {
	defer useOneProcessor().restore()
	if !TakeTurns(ready) {
		return false, false
	}
	f()
	return true, runtime.GOMAXPROCS(0) == 1
}

var maxReadyWait = 5 * time.Second // a variable for tests

const (
	minReadyTries = 10
	// maxTurns bounds how long the program runs on one processor until it is ready.
	maxTurns = 50 * time.Millisecond
)

// TakeTurns lets other goroutines run, on the only processor, until the process is ready. It gives
// up after maxTurns.
//
// The caller was alone when useOneProcessor returned, but that may have changed. If the world took
// longer to stop than a goroutine may run (10 ms, which is common if other programs keep the
// machine busy), the runtime has requested that the caller be preempted, and the request takes
// effect as soon as the world starts again (go1.26 runtime/proc.go, sysmon, retake; stack.go,
// newstack). Goroutines that waited for the world to start then run: above all one that begins the
// next collection. After Gosched the caller has a new time slice, and no request is pending between
// ready and the fork.
func TakeTurns(ready func() bool) bool {
	for deadline := realtime.Clock() + maxTurns; !ready(); runtime.Gosched() {
		if realtime.Clock() >= deadline {
			return false
		}
	}
	return true
}
