package calls

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
)

// An operation may wait for something that its earlier calls have not given back, a connection of a
// pool for example, until the test times out. Setup.Stuck hears of it long before.

// StuckAfter is for how long a call has not returned when that is said; up to the interval between
// two looks longer.
var StuckAfter = 6 * time.Second

// looksAtCall is at how many looks after the first one the call is the same by then.
const looksAtCall = 3

// IsOp reports whether a function of this package calls the operation.
func IsOp(function string) bool { return strings.Contains(function, "/internal/calls.(*Op).") }

// A stuckWatch looks from time to time at which call is under way.
type stuckWatch struct {
	*alarm
	interval time.Duration

	mu         sync.Mutex
	timer      *time.Timer // nil once it is stopped
	seen, same int64       // the call at the last look, and at how many looks before it was the same
}

// An alarm tells, once, that a call does not return.
type alarm struct {
	tell    func(*Stuck) // nil: nobody
	before  *stock       // before the first call
	current atomic.Int64 // the number of the call that has not returned, from 1; 0: none
	told    atomic.Bool
	header  string // of the stack trace of the goroutine that calls op; "": no call was watched
}

// watch tells if a call of op does not return until stop is called. It does nothing in a bubble of
// testing/synctest, where a timer would move the clock.
func (a *alarm) watch() (stop func()) {
	if a.tell == nil || a.told.Load() || realtime.InBubble() {
		return func() {}
	}
	if a.header == "" {
		a.header = ownHeader() // takes as long as a stack trace; one goroutine makes all calls
	}
	w := &stuckWatch{alarm: a, interval: StuckAfter / looksAtCall}
	w.arm()
	return w.stop
}

func (a *alarm) ring(call int64, since time.Duration) {
	a.told.Store(true)
	a.tell(&Stuck{call, since, a.header, a.before.leftAtLeast(min(minLeft, max(call-1, 2)))})
}

func (w *stuckWatch) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.interval, w.look)
}

func (w *stuckWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	w.timer = nil
}

func (w *stuckWatch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	if call := w.current.Load(); call != w.seen || call == 0 {
		w.seen, w.same = call, 0
	} else if w.same++; w.same == looksAtCall {
		w.ring(call, looksAtCall*w.interval)
		return
	}
	w.timer.Reset(w.interval)
}

// ownHeader returns how the stack trace of the calling goroutine begins: "goroutine 7 ".
func ownHeader() string {
	buf := make([]byte, 64)
	header, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "[")
	return header
}
