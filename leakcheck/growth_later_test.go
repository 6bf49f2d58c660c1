package leakcheck_test

import (
	"context"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck"
)

type laterItem struct{ _ [64]byte }

var laterItems struct {
	sync.Mutex
	all []*laterItem
}

func keepLaterItem() {
	laterItems.Lock()
	defer laterItems.Unlock()
	laterItems.all = append(laterItems.all, new(laterItem))
}

func forgetLaterItems() {
	laterItems.Lock()
	defer laterItems.Unlock()
	laterItems.all = nil
}

// burn takes processor time.
func burn(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// A laterQueue does the work of its jobs in a goroutine, which takes longer for a job than a call
// takes to add it. A number of jobs is nothing that grows in memory.
type laterQueue struct {
	mu     sync.Mutex
	cond   *sync.Cond
	jobs   int
	closed bool
}

func startLaterQueue(work func()) *laterQueue {
	q := &laterQueue{}
	q.cond = sync.NewCond(&q.mu)
	go func() {
		for q.next() {
			work()
		}
	}()
	return q
}

func (q *laterQueue) next() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.jobs == 0 && !q.closed {
		q.cond.Wait()
	}
	q.jobs--
	return !q.closed
}

func (q *laterQueue) add() {
	q.mu.Lock()
	q.jobs++
	q.mu.Unlock()
	q.cond.Signal()
}

func (q *laterQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cond.Signal()
}

// What a goroutine leaves behind grows with the calls that leave it the work, however long that
// takes.
func TestGrowthOfLaterWork(t *testing.T) {
	fillCut(t)
	keep := func() {
		burn(time.Millisecond)
		keepLaterItem()
	}
	queue := startLaterQueue(keep)
	defer queue.close()
	jobs := make(chan int, 1<<16)
	defer close(jobs)
	go func() {
		for range jobs {
			keep()
		}
	}()
	var due atomic.Int64
	wake := make(chan struct{}, 1)
	defer close(wake)
	go func() {
		for range wake {
			for ; due.Load() > 0; due.Add(-1) {
				keep()
			}
		}
	}()
	for name, op := range map[string]func(){
		"counter": queue.add,
		"channel": func() { jobs <- 1 },
		"atomic": func() {
			due.Add(1)
			select {
			case wake <- struct{}{}:
			default:
			}
		},
	} {
		if name != "counter" && !require.IsSlow() {
			continue
		}
		forgetLaterItems()
		ft := &impatientT{recordingT{name: t.Name()}}
		if leakcheck.AssertNoGrowth(ft, op) {
			t.Error(name, "passed", ft.logs)
		}
		wantParts(t, strings.Join(ft.errors, "\n"), "+1.00 *leakcheck_test.laterItem/op", "leakcheck_test.laterItems.all")
	}
	forgetLaterItems()

	done := 0
	healthy := startLaterQueue(func() { burn(100 * time.Microsecond); done++ })
	defer healthy.close()
	ft := &impatientT{recordingT{name: t.Name()}}
	require.True(t, leakcheck.AssertNoGrowth(ft, healthy.add), "%s", ft.errors)
}

// setTimers sets n timers, one after the other, and calls f when the last has fired.
func setTimers(n int, in time.Duration, f func()) {
	if n == 0 {
		f()
		return
	}
	time.AfterFunc(in, func() { setTimers(n-1, in, f) })
}

// What timers and goroutines that sleep leave behind grows with the calls that have set them.
func TestGrowthOfTimedWork(t *testing.T) {
	fillCut(t)
	const soon = 20 * time.Millisecond
	for name, tt := range map[string]struct {
		op     func()
		passes bool
	}{
		"timer":       {func() { time.AfterFunc(soon, keepLaterItem) }, false},
		"two timers":  {func() { time.AfterFunc(soon, func() { time.AfterFunc(soon, keepLaterItem) }) }, false},
		"five timers": {func() { setTimers(5, soon, keepLaterItem) }, false},
		"sleep":       {func() { go func() { time.Sleep(soon); keepLaterItem() }() }, false},
		"channel":     {func() { go func() { <-time.After(soon); keepLaterItem() }() }, false},
		"context": {func() {
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			context.AfterFunc(ctx, func() { cancel(); keepLaterItem() })
		}, false},
		"only timers": {func() { time.AfterFunc(soon, func() {}) }, true},
		"only sleeps": {func() { go time.Sleep(soon) }, true},
		"kept until then": {func() {
			kept := new(laterItem)
			time.AfterFunc(soon, func() { runtime.KeepAlive(kept) })
		}, true},
		"no timer that fires": {func() { time.AfterFunc(time.Second, keepLaterItem).Stop() }, true},
	} {
		if name == "five timers" && runtime.GOOS == "windows" {
			continue // between two timers nothing tells there that a goroutine is about to run
		}
		if name != "five timers" && name != "sleep" && name != "only timers" && !require.IsSlow() {
			continue
		}
		forgetLaterItems()
		ft := &impatientT{recordingT{name: t.Name()}}
		passed := leakcheck.AssertNoGrowth(ft, tt.op, leakcheck.Iterations(20))
		require.Equal(t, tt.passes, passed, "%s: %s %s", name, ft.errors, ft.logs)
		if !tt.passes {
			wantParts(t, strings.Join(ft.errors, "\n"), "+1.00 *leakcheck_test.laterItem/op", "leakcheck_test.laterItems.all")
		}
	}
	forgetLaterItems()
}

// A goroutine that sleeps again and again is waited for a few times only.
func TestGrowthOfPollers(t *testing.T) {
	fillCut(t)
	stop := make(chan struct{})
	defer close(stop)
	ft := &impatientT{recordingT{name: t.Name()}}
	require.False(t, leakcheck.AssertNoGrowth(ft, func() {
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		}()
	}, leakcheck.Iterations(20)))
	wantParts(t, strings.Join(ft.errors, "\n"), "+1.00 goroutine/op")
}

// each calls f again and again until the test ends, with a wait before each.
func each(t *testing.T, wait func() <-chan time.Time, f func()) {
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for next := wait(); ; next = wait() {
			select {
			case <-next:
				f()
			case <-done:
				return
			}
		}
	}()
}

// requireCallsAddUp looks at the calls that a message lists: "op was called 30 times: 10 to warm
// up, then 5, 5 and 10, with".
func requireCallsAddUp(t *testing.T, message string) {
	t.Helper()
	_, list, ok := strings.Cut(message, "op was called ")
	require.True(t, ok, message)
	list, _, _ = strings.Cut(list, ", with a snapshot")
	var sum int
	for i, n := range regexp.MustCompile(`\d[\d,]*\b`).FindAllString(list, -1) {
		calls, err := strconv.Atoi(strings.ReplaceAll(n, ",", ""))
		require.NoError(t, err)
		if i == 0 {
			calls = -calls
		}
		sum += calls
	}
	require.Zero(t, sum, list)
}

// What calls collect until a timer fires is no growth, and neither is what that timer's goroutine
// keeps until the next time. What stays for good is.
func TestGrowthBesideTimersForManyCalls(t *testing.T) {
	fillCut(t)
	const period = 400 * time.Millisecond
	ticks := func(t *testing.T) func() <-chan time.Time {
		ticker := time.NewTicker(period)
		t.Cleanup(ticker.Stop)
		return func() <-chan time.Time { return ticker.C }
	}
	again := func(*testing.T) func() <-chan time.Time {
		timer := time.NewTimer(0)
		return func() <-chan time.Time { timer.Reset(period); return timer.C }
	}
	after := func(*testing.T) func() <-chan time.Time {
		return func() <-chan time.Time { return time.After(period) }
	}
	var older []*laterItem
	rotate := func() { older, laterItems.all = laterItems.all, nil }
	for name, tt := range map[string]struct {
		timer  func(*testing.T) func() <-chan time.Time
		work   func(kept *[]*laterItem)
		passes bool
	}{
		"ticker":           {ticks, func(*[]*laterItem) { laterItems.all = nil }, true},
		"timer set again":  {again, func(*[]*laterItem) { laterItems.all = nil }, true},
		"time.After":       {after, func(*[]*laterItem) { laterItems.all = nil }, true},
		"two generations":  {ticks, func(*[]*laterItem) { rotate() }, true},
		"all are kept":     {ticks, func(kept *[]*laterItem) { *kept = append(*kept, laterItems.all...); laterItems.all = nil }, false},
		"kept, time.After": {after, func(kept *[]*laterItem) { *kept = append(*kept, laterItems.all...); laterItems.all = nil }, false},
		"none are taken":   {ticks, func(*[]*laterItem) {}, false},
	} {
		if name != "two generations" && name != "all are kept" && !require.IsSlow() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			forgetLaterItems()
			var kept []*laterItem
			each(t, tt.timer(t), func() {
				laterItems.Lock()
				defer laterItems.Unlock()
				tt.work(&kept)
			})
			ft := &impatientT{recordingT{name: t.Name()}}
			passed := leakcheck.AssertNoGrowth(ft, keepLaterItem, leakcheck.Iterations(20))
			require.Equal(t, tt.passes, passed, "%s %s", ft.errors, ft.logs)
			if !passed {
				said := strings.Join(ft.errors, "\n")
				wantParts(t, said, "*leakcheck_test.laterItem")
				requireCallsAddUp(t, said)
			}
		})
	}
	forgetLaterItems()
	runtime.KeepAlive(older)
}

// Calls that only count leave nothing until a timer fires. Full waits for it; without Full, the log
// says that nothing has.
func TestGrowthThatTimersMakeOfCounts(t *testing.T) {
	fillCut(t)
	var calls, all atomic.Int64
	count := func() { calls.Add(1) }
	add := func() { all.Add(calls.Swap(0)) }
	keep := func() {
		for range calls.Swap(0) {
			keepLaterItem()
		}
	}
	for name, tt := range map[string]struct {
		work   func()
		passes bool
	}{
		"kept":  {keep, false},
		"added": {add, true},
	} {
		t.Run(name, func(t *testing.T) {
			forgetLaterItems()
			ticker := time.NewTicker(250 * time.Millisecond)
			t.Cleanup(ticker.Stop)
			each(t, func() <-chan time.Time { return ticker.C }, tt.work)
			ft := &impatientT{recordingT{name: t.Name()}}
			require.True(t, leakcheck.AssertNoGrowth(ft, count), "%s", ft.errors)
			wantParts(t, strings.Join(ft.logs, "\n"), "a timer or a ticker is due in", "Full waits for it")
			ft = &impatientT{recordingT{name: t.Name()}}
			require.Equal(t, tt.passes, leakcheck.AssertNoGrowth(ft, count, leakcheck.Full()), "%s %s", ft.errors, ft.logs)
			if !tt.passes {
				wantParts(t, strings.Join(ft.errors, "\n"), "+1.00 *leakcheck_test.laterItem/op", "leakcheck_test.laterItems.all")
			}
		})
	}
	forgetLaterItems()
}

// An array that a timer's goroutine empties is no growth, though it stays where it is.
func TestGrowthOfAnArrayThatIsEmptied(t *testing.T) {
	fillCut(t)
	var mu sync.Mutex
	lines := make([]byte, 0, 1<<20)
	ticker := time.NewTicker(700 * time.Millisecond)
	t.Cleanup(ticker.Stop)
	each(t, func() <-chan time.Time { return ticker.C }, func() {
		mu.Lock()
		defer mu.Unlock()
		lines = lines[:0]
	})
	ft := &impatientT{recordingT{name: t.Name()}}
	require.True(t, leakcheck.AssertNoGrowth(ft, func() {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, "a line of a log, of some length\n"...)
	}), "%s", ft.errors)
}

func spin(stop *atomic.Bool) {
	for !stop.Load() {
	}
}

// A goroutine that never rests is waited for once, and named.
func TestGrowthBesideWhatNeverRests(t *testing.T) {
	fillCut(t)
	var stop atomic.Bool
	defer stop.Store(true)
	go spin(&stop)
	calls := 0
	for range 2 {
		ft := &impatientT{recordingT{name: t.Name()}}
		require.True(t, leakcheck.AssertNoGrowth(ft, func() { calls++ }), "%s", ft.errors)
		wantParts(t, strings.Join(ft.logs, "\n"), "later does not count: github.com/leakgate/leakgate/leakcheck_test.spin")
	}
}

var lateQueue []*laterItem

// The array of a queue is as long as the largest batch if the goroutines that take from it are
// late. By chance it may still double in a few further batches, when its elements no longer do.
func TestArrayAsLongAsTheLargestBatch(t *testing.T) {
	fillCut(t)
	ends := []int{4, 8, 16, 32, 64, 80, 109, 141}
	lens := []int{2, 4, 8, 16, 32, 16, 29, 32, 30}
	caps := []int{2, 4, 8, 16, 32, 16, 32, 48, 48}
	calls := 0
	ft := &impatientT{recordingT{name: t.Name()}}
	passed := leakcheck.AssertNoGrowth(ft, func() {
		calls++
		i, _ := slices.BinarySearch(ends, calls)
		lateQueue = make([]*laterItem, lens[i], caps[i])
	}, leakcheck.Iterations(4))
	lateQueue = nil
	require.True(t, passed, "%s", ft.errors)
	require.Greater(t, calls, 141)
}
