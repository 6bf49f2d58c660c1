package leakcheck

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth"
	"github.com/leakgate/leakgate/refscan"
)

// A lockedText can be written and read by several goroutines.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// takeSlot waits until a slot of a pool is free.
//
//go:noinline
func takeSlot(pool chan bool) { pool <- true }

// stay never returns.
//
//go:noinline
func stay() { <-make(chan bool) }

// TestStuckCall checks that standard error says, once, which call does not return, and where it is;
// and that it says nothing of calls that do.
func TestStuckCall(t *testing.T) {
	defer func(d time.Duration) { calls.StuckAfter = d }(calls.StuckAfter)
	calls.StuckAfter = 60 * time.Millisecond
	for name, c := range map[string]struct {
		slots int
		op    func(pool chan bool)
		want  []string // nil: nothing
		left  []*refscan.Node
	}{
		"its own leak": {4, takeSlot, []string{
			"op has not returned from call 5 for 60ms", "\n    chan send in:\n        github.com/leakgate/leakgate/leakcheck.takeSlot (", "growth_stuck_test.go:",
		}, nil},
		"the first call":    {0, takeSlot, []string{"op has not returned from call 1 for 60ms", "leakcheck.takeSlot"}, nil},
		"in the second one": {1, takeSlot, []string{"call 2 "}, nil},
		"after a batch":     {30, takeSlot, []string{"call 31 "}, nil},
		"in a function that it calls": {2, func(pool chan bool) {
			var wait sync.WaitGroup
			wait.Add(1)
			go func() {
				defer wait.Done()
				takeSlot(pool)
			}()
			wait.Wait()
		}, []string{"call 3 ", "sync.WaitGroup.Wait in:"}, nil},
		"given back":    {1, func(pool chan bool) { takeSlot(pool); <-pool }, nil, nil},
		"never full":    {1 << 20, takeSlot, nil, nil},
		"slow":          {1 << 20, func(pool chan bool) { takeSlot(pool); time.Sleep(2 * time.Millisecond) }, nil, nil},
		"does nothing":  {1, func(chan bool) {}, nil, nil},
		"in goroutines": {1 << 20, func(pool chan bool) { go takeSlot(pool) }, nil, nil},
		"and leaves goroutines": {5, func(pool chan bool) { go stay(); takeSlot(pool) }, []string{
			"call 6 ", "there are as many as calls, or a multiple:\n    6 goroutines started in github.com/leakgate/leakgate/leakcheck.stay, created by ",
		}, nil},
		"and leaves timers":  {5, takeSlot, []string{"\n    5 timers: timer(context.WithTimeout)\n"}, []*refscan.Node{pendingTimers("context.WithTimeout", 5, far, far)}},
		"and leaves objects": {5, takeSlot, []string{"\n    10 example.com/app.Session, with 4.1 KiB, at example.com/app.sessions[*]\n"}, []*refscan.Node{sessions(10)}},
		"beside others":      {5, takeSlot, []string{"call 6 "}, []*refscan.Node{sessions(14), pendingTimers("context.WithTimeout", 3, far, far)}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, growing(sessions, 5)...)
			if c.left != nil {
				w.reports = []*refscan.Report{report(c.left...)}
			}
			said := &lockedText{}
			w.Stderr = said
			pool := make(chan bool, c.slots)
			done := make(chan bool)
			go func() {
				defer close(done)
				op := func() { c.op(pool) }
				growth.AssertNoGrowth(w.Checker, &fakeT{name: "TestPool"}, environ.Site{}, op, newGrowthRequest(op, []GrowthOption{Iterations(20), Warmup(20)}), growth.Source{Goroutines: goroutine.CountAll})
			}()
			if c.want != nil {
				last := c.want[len(c.want)-1]
				for ended := false; !strings.Contains(said.String(), last) && !ended; {
					select {
					case <-done:
						ended = true
					case <-time.After(time.Millisecond):
					}
				}
				time.Sleep(2 * calls.StuckAfter)
				go func() {
					for {
						select {
						case <-pool:
						case <-done:
							return
						}
					}
				}()
			}
			<-done
			text := said.String()
			for _, want := range c.want {
				assert.True(t, strings.Contains(text, want), "no %q in\n%s", want, text)
			}
			assert.Equal(t, c.want != nil, strings.HasPrefix(text, "leakcheck: TestPool: op has not returned"), text)
			assert.True(t, strings.Count(text, "has not returned") <= 1, text)
			assert.True(t, name != "beside others" || !strings.Contains(text, "as many"), text)
		})
	}
}
