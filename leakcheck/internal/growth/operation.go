package growth

import (
	"math/bits"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// An operation is what the experiment calls, with what the calls so far have shown.
type operation struct {
	run   func()
	fails func() bool // whether op has failed the test by now
	time  environ.Budget
	after time.Duration // what has to be left when a call returns

	calls   int64
	current atomic.Int64  // the number of the call that has not returned, from 1; 0: none
	failed  bool          // op failed the test in its last call and is not called again
	late    bool          // there is no time for another call and a snapshot after it, or
	short   error         // a limit leaves next to no memory
	slowest time.Duration // of a call
	spent   time.Duration // in all calls, and in waits for what they have left to other goroutines
	took    [64]int64     // calls, by the length in bits of the nanoseconds that they took
}

// call calls op n times, and passed after each call, if that is not nil. It reports whether it did:
// not if op has failed the test before, or time is up.
func (o *operation) call(n int, passed func()) bool {
	for range n {
		if o.ended() {
			return false
		}
		o.short = o.look()
		if o.late = o.short != nil || !o.time.Allows(o.slowest+o.after); o.late {
			return false
		}
		start := o.time.Now()
		o.current.Store(o.calls + 1)
		o.run()
		o.current.Store(0)
		took := o.time.Now().Sub(start)
		o.slowest, o.spent = max(o.slowest, took), o.spent+took
		o.took[bits.Len64(uint64(max(took, 0)))]++
		o.calls++
		if passed != nil {
			passed()
		}
		o.failed = o.fails()
	}
	return true
}

// stackText is about how many bytes it takes to count a goroutine, by the text of its stack.
const stackText = 1 << 10

// look returns an error if a limit leaves next to no memory for another call, even without the
// garbage of those before.
func (o *operation) look() error {
	beside := stackText * int64(runtime.NumGoroutine())
	err := memory.LookBeside(beside)
	if err != nil {
		debug.FreeOSMemory()
		err = memory.Now(beside)
	}
	return err
}

// memory looks at the limits for all experiments, each of which may take less time than that.
var memory headroom.Watch

// ended reports whether op is not called again.
func (o *operation) ended() bool { return o.failed || o.late }

// usual is how long a call takes on average, without the slowest one, which the system may have
// delayed, or which did what only a first call does.
func (o *operation) usual() time.Duration {
	if o.calls < 2 {
		return o.slowest
	}
	return (o.spent - o.slowest) / time.Duration(o.calls-1)
}

// median is how long half of the calls took at most, up to twice as much. A busy machine, which
// delays some calls by a thousand times, does not change it as it does usual.
func (o *operation) median() time.Duration {
	calls := int64(0)
	for length, n := range o.took {
		if calls += n; 2*calls >= o.calls {
			return 1<<length - 1
		}
	}
	return 0
}
