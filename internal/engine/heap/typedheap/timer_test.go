package typedheap_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

type load struct{ _ [4]int }

//go:noinline
func use(*load) {}

// set arms timers that are due in hours, and returns what stops them.
func set(hours int) (stop func()) {
	held := &load{}
	f := time.AfterFunc(time.Duration(hours)*time.Hour, func() { use(held) })
	end := make(chan struct{})
	timers, tickers := time.NewTimer(time.Duration(hours)*time.Hour), time.NewTicker(time.Duration(hours)*time.Hour)
	for _, c := range []<-chan time.Time{timers.C, tickers.C} {
		go func() { // the timer of a channel is pending while a goroutine waits
			select {
			case <-c:
			case <-end:
			}
		}()
	}
	return func() { f.Stop(); close(end) }
}

// The pending timers are those that the program has set, each with its kind, its time and what it
// refers to.
func TestPendingTimers(t *testing.T) {
	const hours, sets = 100, 50
	for range sets {
		defer set(hours)()
	}
	stopped := time.AfterFunc(hours*time.Hour, func() {})
	stopped.Stop()
	found := make(map[string]int)
	for deadline := time.Now().Add(time.Minute); found["time.sendTime time.Timer"]+found["time.sendTime time.Ticker repeats"] < 2*sets && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		clear(found)
		p := heaptest.Capture(t)
		list := p.Heap.Timers
		now := p.Model().Now
		for i := range list.List {
			e := &list.List[i]
			if due := time.Duration(e.When - now); due < (hours-1)*time.Hour {
				continue
			}
			kind := e.Call
			if e.Of != nil {
				kind += " " + e.Of.Name
			}
			if e.Period > 0 {
				kind += " repeats"
			}
			e.Edges(p.Heap.Types, func(label string, to heaptype.Edge) {
				if to.Layout == heaptype.LayoutClosure {
					kind += fmt.Sprint(" ", label, " ", p.Model().FuncAt(e.Entry).Name)
				}
			})
			found[kind]++
		}
		require.NotEmpty(t, list.Heaps)
		require.NoError(t, p.Close())
	}
	require.Equal(t, map[string]int{
		"time.goFunc time.Timer $fn github.com/leakgate/leakgate/internal/engine/heap/typedheap_test.set.func1": sets,
		"time.sendTime time.Timer": sets, "time.sendTime time.Ticker repeats": sets,
	}, found)
}
