package growth

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
)

// An operation may wait for something that its earlier calls have not given back, a connection of a
// pool for example, until the test times out. Standard error says so long before.

// StuckAfter is for how long a call has not returned when standard error says where it is; up to
// the interval between two looks longer.
var StuckAfter = 6 * time.Second

// looksAtCall is at how many looks after the first one the call is the same by then.
const looksAtCall = 3

// maxStuckCalls is how many functions on the stack of such a call are shown.
const maxStuckCalls = 12

// A stuckWatch looks from time to time at which call is under way.
type stuckWatch struct {
	x          *Experiment
	interval   time.Duration
	mu         sync.Mutex
	timer      *time.Timer // nil once it is stopped
	seen, same int64       // the call at the last look, and at how many looks before it was the same
}

// watch says on standard error, once, if a call of op does not return until stop is called. It does
// nothing in a bubble of testing/synctest, where a timer would move the clock.
func (x *Experiment) watch() (stop func()) {
	if x.Stderr == nil || x.stuck.Load() || realtime.InBubble() {
		return func() {}
	}
	if x.header == "" {
		x.header = ownHeader() // takes as long as a stack trace; one goroutine makes all calls
	}
	w := &stuckWatch{x: x, interval: StuckAfter / looksAtCall}
	w.arm()
	return w.stop
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
	if call := w.x.op.current.Load(); call != w.seen || call == 0 {
		w.seen, w.same = call, 0
	} else if w.same++; w.same == looksAtCall {
		w.x.stuck.Store(true)
		w.x.announceStuck(call, looksAtCall*w.interval)
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

// announceStuck says where a call of op is, and what the calls before left behind.
func (x *Experiment) announceStuck(call int64, since time.Duration) {
	text := fmt.Sprintf("leakcheck: %s: op has not returned from call %s for %s", x.Test, textfmt.Count(call), since)
	if left := x.limits.before.left(); left != "" {
		text += "; until then " + left
	}
	for block := range strings.SplitSeq(realtime.AllStacks(), "\n\n") {
		if strings.HasPrefix(block, x.header) {
			realtime.Goroutines(block, func(g *realtime.Goroutine) { text += x.stuckAt(g) })
		}
	}
	fmt.Fprintln(x.Stderr, text+"\n    (said now in case that the test times out; the stacks of all goroutines follow then)")
}

// stuckAt returns the lines on the goroutine that calls op.
func (x *Experiment) stuckAt(g *realtime.Goroutine) string {
	text := "\n    " + g.State + " in:"
	shown := 0
	for _, c := range g.Calls {
		pkg := symbol.Package(c.Function)
		if symbol.IsTool(pkg) && strings.Contains(c.Function, ".(*operation).") {
			break
		}
		if symbol.IsRuntime(pkg) && shown == 0 {
			continue
		}
		if shown++; shown > maxStuckCalls {
			text += "\n        …"
			break
		}
		text += "\n        " + symbol.Unescape(c.Function) + " (" + x.Env.PlaceOf(c.At) + ")"
	}
	one := &pile.Goroutines{Count: 1, State: g.State, Calls: g.Calls}
	if i := one.Cause(&pile.Origin{Entry: g.Calls[len(g.Calls)-1].Function}, x.Env.IsProgram); i >= 0 {
		text += "\n    usual cause: " + pile.Causes[i].Text
	}
	return text
}
