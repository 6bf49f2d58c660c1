package leakcheck

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/growth"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
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

// TestStuckCall checks that standard error says, once, which call does not return, and where it is;
// and that it says nothing of calls that do.
func TestStuckCall(t *testing.T) {
	defer func(d time.Duration) { growth.StuckAfter = d }(growth.StuckAfter)
	growth.StuckAfter = 60 * time.Millisecond
	for name, c := range map[string]struct {
		slots int
		op    func(pool chan bool)
		want  []string // nil: nothing
	}{
		"its own leak": {4, takeSlot, []string{
			"op has not returned from call 5 for 60ms", "\n    chan send in:\n        github.com/leakgate/leakgate/leakcheck.takeSlot (", "growth_stuck_test.go:",
		}},
		"the first call":    {0, takeSlot, []string{"op has not returned from call 1 for 60ms", "leakcheck.takeSlot"}},
		"in the second one": {1, takeSlot, []string{"call 2 "}},
		"after a batch":     {30, takeSlot, []string{"call 31 "}},
		"in a function that it calls": {2, func(pool chan bool) {
			var wait sync.WaitGroup
			wait.Add(1)
			go func() {
				defer wait.Done()
				takeSlot(pool)
			}()
			wait.Wait()
		}, []string{"call 3 ", "sync.WaitGroup.Wait in:"}},
		"given back":    {1, func(pool chan bool) { takeSlot(pool); <-pool }, nil},
		"never full":    {1 << 20, takeSlot, nil},
		"slow":          {1 << 20, func(pool chan bool) { takeSlot(pool); time.Sleep(2 * time.Millisecond) }, nil},
		"does nothing":  {1, func(chan bool) {}, nil},
		"in goroutines": {1 << 20, func(pool chan bool) { go takeSlot(pool) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, growing(sessions, 5)...)
			said := &lockedText{}
			w.Stderr = said
			pool := make(chan bool, c.slots)
			done := make(chan bool)
			go func() {
				defer close(done)
				op := func() { c.op(pool) }
				growth.AssertNoGrowth(w.Checker, &fakeT{name: "TestPool"}, environ.Site{}, op, newGrowthRequest(op, []GrowthOption{Iterations(20), Warmup(20)}), pile.CountAll, growth.Watchers{})
			}()
			if c.want != nil {
				for ended := false; said.String() == "" && !ended; {
					select {
					case <-done:
						ended = true
					case <-time.After(time.Millisecond):
					}
				}
				time.Sleep(2 * growth.StuckAfter)
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
		})
	}
}
