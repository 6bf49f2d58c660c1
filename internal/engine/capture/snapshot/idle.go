package snapshot

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
)

const (
	// AwaitIdle yields for yieldFor before it sleeps: a sleep may take a millisecond, and a thread
	// that looks for work counts as a goroutine that runs.
	yieldFor = 200 * time.Microsecond
	maxWait  = 5 * time.Millisecond
	// maxUnchanged is the processor time, or where that is unknown the time, for which AwaitIdle
	// lets goroutines run whose number does not fall.
	maxUnchanged = time.Second
)

// restless is the number of goroutines that run without an end, and so count as idle.
var restless atomic.Uint64

// AwaitIdle waits until no other goroutine runs or is about to run, so that work which has been
// handed to them is done, unless they wait for a timer or for input. It gives up when over returns
// true, or when as many goroutines as before have used processor time for a second; then it waits
// for these no more until fewer of them run. It reports whether none runs. It allocates nothing in
// an idle program and takes some microseconds there. It is safe for concurrent use.
func AwaitIdle(over func() bool) bool {
	least, since := ^uint64(0), time.Duration(0)
	begun, wait := realtime.Clock(), 50*time.Microsecond
	for {
		now := observeActivity()
		switch {
		case now.running == 0:
			return !now.restless
		case now.running < least:
			least, since = now.running, processorTime()
		case over():
			return false
		case processorTime()-since > maxUnchanged:
			restless.Add(least)
			return false
		}
		if realtime.Clock()-begun < yieldFor {
			runtime.Gosched()
			continue
		}
		realtime.Sleep(wait)
		wait = min(2*wait, maxWait)
	}
}
