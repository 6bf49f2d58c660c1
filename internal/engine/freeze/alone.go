package freeze

import (
	"errors"
	"runtime"
	"sync"
	"time"
)

// taking keeps snapshots apart: two that change GOMAXPROCS at once would put back each other's
// setting.
var taking sync.Mutex

// ErrNotReady is in the chain of the error of TakeWhen and WhenReady where the process was never ready.
var ErrNotReady = errors.New("the process was never ready to be frozen")

// OnOneProcessor calls f while the calling goroutine has the right to run Go code to itself, and
// reports whether GOMAXPROCS stayed as it has to for that. It waits for the end of a collection that
// is under way, and stops the world twice, for some ten microseconds.
//
// f is not told if the caller is preempted in it: where that matters, f has to find out by itself.
func OnOneProcessor(f func()) (alone bool) {
	taking.Lock()
	defer taking.Unlock()
	_, alone = onOneProcessor(func() bool { return true }, f)
	return alone
}

// WhenReady is OnOneProcessor at a moment at which ready returns true, as TakeWhen is Take. Where
// there is none for some seconds, it returns ErrNotReady and has not called f.
func WhenReady(ready func() bool, f func()) (alone bool, err error) {
	taking.Lock()
	defer taking.Unlock()
	called, alone := whenReady(ready, f)
	if !called {
		return false, ErrNotReady
	}
	return alone, nil
}

// whenReady calls f once, where no other goroutine runs, at a moment when the process is ready. It
// tries for maxReadyWait and at least minReadyTries times. One try may take long: useOneProcessor
// waits for the end of a collection. The caller holds taking.
func whenReady(ready func() bool, f func()) (called, alone bool) {
	deadline := Clock() + maxReadyWait
	for try := 1; !called && (try <= minReadyTries || Clock() < deadline); try++ {
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

// TakeTurns lets other goroutines run, on the one processor that there is, until the process is
// ready. It gives up after maxTurns.
//
// The caller was alone when useOneProcessor returned. It need not be any more: where the world took
// longer to stop than a goroutine may run (10 ms, which is common where the machine is busy with
// other programs), the request to give way that came meanwhile takes effect as soon as the world
// starts again (go1.26 runtime/proc.go, sysmon, retake; stack.go, newstack), and whoever waited for
// the world to start has it: a goroutine that begins the next collection, above all. After Gosched
// the caller has a new time slice, and nothing to wait for between ready and the fork.
func TakeTurns(ready func() bool) bool {
	for deadline := Clock() + maxTurns; !ready(); runtime.Gosched() {
		if Clock() >= deadline {
			return false
		}
	}
	return true
}
