package leakcheck_test

import (
	"container/list"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck"
)

// windowClock is the clock of the programs below: it is ahead of the system's by what they slept.
type windowClock struct{ ahead time.Duration }

func (c *windowClock) now() time.Time { return time.Now().Add(c.ahead) }

// sleep does not sleep as long as a window lasts.
func (c *windowClock) sleep(d time.Duration) {
	if d < 10*time.Second {
		time.Sleep(d)
		return
	}
	c.ahead += d
}

type stamped struct {
	at    time.Time
	value float64
}

type sample struct {
	unix  uint32
	value float32
}

type samples struct{ took []time.Duration }

// A windowed program keeps an entry for each call, for some time.
type windowed struct {
	windowClock
	stay time.Duration // 0: for ever

	entries  []stamped
	pointers []*stamped
	millis   []int64
	small    []sample
	byName   map[int]*stamped
	byMicro  map[int64]*stamped
	bySecond map[int64]*samples
	recent   list.List
	rates    map[int][]time.Time
	swept    time.Time
	shared   sync.Map
}

func newWindowed(stay time.Duration) *windowed {
	return &windowed{
		stay: stay, byName: make(map[int]*stamped), byMicro: make(map[int64]*stamped),
		bySecond: make(map[int64]*samples), rates: make(map[int][]time.Time),
	}
}

func (w *windowed) isOver(at time.Time) bool { return w.stay > 0 && w.now().Sub(at) > w.stay }

func (w *windowed) addEntry(int) {
	w.entries = append(w.entries, stamped{at: w.now()})
	for w.isOver(w.entries[0].at) {
		w.entries = w.entries[1:]
	}
}

func (w *windowed) addPointer(int) {
	w.pointers = append(w.pointers, &stamped{at: w.now().UTC().Round(0)})
	for w.isOver(w.pointers[0].at) {
		w.pointers = w.pointers[1:]
	}
}

func (w *windowed) addMillis(int) {
	w.millis = append(w.millis, w.now().UnixMilli())
	for w.isOver(time.UnixMilli(w.millis[0])) {
		w.millis = w.millis[1:]
	}
}

func (w *windowed) addSmall(int) {
	w.small = append(w.small, sample{unix: uint32(w.now().Unix()), value: 1})
	for w.isOver(time.Unix(int64(w.small[0].unix), 0)) {
		w.small = w.small[1:]
	}
}

func (w *windowed) addName(call int) {
	w.byName[call] = &stamped{at: w.now()}
	for name, s := range w.byName {
		if w.isOver(s.at) {
			delete(w.byName, name)
		}
	}
}

// addSome keeps one entry of ten for ever.
func (w *windowed) addSome(call int) {
	w.byName[call] = &stamped{at: w.now()}
	for name, s := range w.byName {
		if w.isOver(s.at) && name%10 != 0 {
			delete(w.byName, name)
		}
	}
}

// addOneForOne takes away no more than it adds.
func (w *windowed) addOneForOne(call int) {
	w.byName[call] = &stamped{at: w.now()}
	for name, s := range w.byName {
		if w.isOver(s.at) {
			delete(w.byName, name)
			break
		}
	}
}

func (w *windowed) addMicro(int) {
	now := w.now().UnixMicro()
	for w.byMicro[now] != nil { // each call has a microsecond of its own
		now = w.now().UnixMicro()
	}
	w.byMicro[now] = &stamped{}
	for at := range w.byMicro {
		if w.isOver(time.UnixMicro(at)) {
			delete(w.byMicro, at)
		}
	}
}

// addSecond keeps what hystrix does: what the calls of each second took.
func (w *windowed) addSecond(int) {
	now := w.now().Unix()
	if w.bySecond[now] == nil {
		w.bySecond[now] = &samples{}
	}
	w.bySecond[now].took = append(w.bySecond[now].took, time.Millisecond)
	for at := range w.bySecond {
		if w.isOver(time.Unix(at, 0)) {
			delete(w.bySecond, at)
		}
	}
}

func (w *windowed) addRecent(int) {
	w.recent.PushBack(&stamped{at: w.now()})
	for w.isOver(w.recent.Front().Value.(*stamped).at) {
		w.recent.Remove(w.recent.Front())
	}
}

// addRate sweeps once in each window.
func (w *windowed) addRate(call int) {
	if w.isOver(w.swept) {
		for client, hits := range w.rates {
			if w.isOver(hits[len(hits)-1]) {
				delete(w.rates, client)
			}
		}
		w.swept = w.now()
	}
	w.rates[call] = append(w.rates[call], w.now())
}

// addExpiry keeps when an entry is over.
func (w *windowed) addExpiry(call int) {
	w.shared.Store(call, &stamped{at: w.now().Add(max(w.stay, 2*time.Second))})
	w.shared.Range(func(key, value any) bool {
		if w.stay > 0 && w.now().After(value.(*stamped).at) {
			w.shared.Delete(key)
		}
		return true
	})
}

// A dated program has times, and keeps entries that have none of this test.
type dated struct {
	began   time.Time
	numbers []int64
	old     []*stamped
	byID    map[int64]*stamped
}

// growthOf returns the message or, after a pass, the log of AssertNoGrowth.
func (w *windowed) growthOf(op func(call int)) (passed bool, text string) {
	calls := 0
	ft := &recordingT{name: "TestWindow"}
	passed = leakcheck.AssertNoGrowthAsleep(ft, func() { calls++; op(calls) }, w.sleep, leakcheck.Iterations(100))
	runtime.KeepAlive(w)
	return passed, strings.Join(append(ft.errors, ft.logs...), "\n")
}

// windowWays are the ways to keep entries for some time. In place there is no copy of large
// arrays without pointers, and so none of the times in them.
var windowWays = []struct {
	what    string
	op      func(*windowed) func(call int)
	inPlace bool
}{
	{"a slice of entries", func(w *windowed) func(int) { return w.addEntry }, true},
	{"a slice of pointers", func(w *windowed) func(int) { return w.addPointer }, true},
	{"an array of milliseconds", func(w *windowed) func(int) { return w.addMillis }, false},
	{"seconds of 32 bits", func(w *windowed) func(int) { return w.addSmall }, false},
	{"a map with times in its values", func(w *windowed) func(int) { return w.addName }, true},
	{"a map with times for keys", func(w *windowed) func(int) { return w.addMicro }, true},
	{"figures for each second", func(w *windowed) func(int) { return w.addSecond }, true},
	{"a list", func(w *windowed) func(int) { return w.addRecent }, true},
	{"swept once in each window", func(w *windowed) func(int) { return w.addRate }, true},
	{"with their expiry", func(w *windowed) func(int) { return w.addExpiry }, true},
}

// saysWhatGoes reports whether the log of a pass says that what grew goes again: by waiting for it,
// or, on a busy machine, because it went while batches still ran.
func saysWhatGoes(text string) bool {
	return slices.ContainsFunc([]string{
		"is kept for some time only", "grew, but fell in a further batch", "grew, but not with every batch, or less and less, and is no leak",
		"op sets timers that take more than 2s, one after the other",
	}, func(words string) bool { return strings.Contains(text, words) })
}

// What is taken away as time goes on is no leak, and is not said to be one.
func TestGrowthOfWindows(t *testing.T) {
	fillCut(t)
	for i := 0; i < len(windowWays); i += require.Rounds(3, 1) {
		way := windowWays[i]
		if os.Getenv("LEAKGATE_FREEZE") == "inplace" && !way.inPlace {
			continue
		}
		w := newWindowed(10 * time.Second)
		passed, text := w.growthOf(way.op(w))
		require.True(t, passed && saysWhatGoes(text) || strings.Contains(text, "UNKNOWN"), "%s: %s", way.what, text)
	}
}

// What is never taken away, or not before the experiment ends, is a leak, whatever times it has.
func TestGrowthWithTimes(t *testing.T) {
	fillCut(t)
	const hint = "may be a window"
	d := &dated{began: time.Now(), byID: make(map[int64]*stamped)}
	tests := []struct {
		what string
		op   func(call int)
	}{
		{"numbers", func(call int) { d.numbers = append(d.numbers, 1e9+int64(call), rand.Int64()) }},
		{"durations", func(int) { d.numbers = append(d.numbers, int64(time.Since(d.began))) }},
		{"entries of long ago", func(call int) { d.old = append(d.old, &stamped{at: time.Unix(int64(call), 0)}) }},
		{"entries with numbers", func(call int) { d.byID[int64(call)<<20] = &stamped{value: 1} }},
	}
	for _, way := range windowWays {
		tests = append(tests, struct {
			what string
			op   func(call int)
		}{way.what, nil})
	}
	w := newWindowed(0)
	for i := 0; i < len(tests); i += require.Rounds(3, 1) {
		test := tests[i]
		if test.op == nil {
			test.op = windowWays[i-len(tests)+len(windowWays)].op(w)
		}
		d.numbers = nil
		passed, text := w.growthOf(test.op)
		require.True(t, !passed && strings.Contains(text, "memory grows") && !strings.Contains(text, hint), "%s: %s", test.what, text)
	}
	runtime.KeepAlive(d)
}

// An hour is not waited for: what expires then is red, and said to be.
func TestGrowthOfLongWindows(t *testing.T) {
	fillCut(t)
	w := newWindowed(time.Hour)
	passed, text := w.growthOf(w.addExpiry)
	require.False(t, passed, text)
	wantParts(t, text, "memory grows", "expires up to ", " ahead, by the times in ")
	w = newWindowed(time.Hour)
	passed, text = w.growthOf(w.addName)
	require.True(t, !passed && strings.Contains(text, "memory grows"), text)
}

// Where only part of what grows is taken away, it is not known what becomes of the rest.
func TestGrowthOfPartialWindows(t *testing.T) {
	fillCut(t)
	for i, op := range []func(*windowed) func(int){
		func(w *windowed) func(int) { return w.addSome },
		func(w *windowed) func(int) { return w.addOneForOne },
	} {
		w := newWindowed(10 * time.Second)
		passed, text := w.growthOf(op(w))
		require.False(t, passed && strings.Contains(text, "is kept for some time only"), "%d: %s", i, text)
		wantParts(t, text, "UNKNOWN", "part of what grows")
	}
}

// The same by the system's clock.
func TestGrowthOfTenSeconds(t *testing.T) {
	require.Slow(t)
	fillCut(t)
	for stay, want := range map[time.Duration]string{10 * time.Second: "is kept for some time only", 0: "without a call"} {
		w, calls := newWindowed(stay), 0
		ft := &recordingT{name: "TestWindow"}
		passed := leakcheck.AssertNoGrowth(ft, func() { calls++; w.addRate(calls) }, leakcheck.Iterations(100))
		text := strings.Join(append(ft.errors, ft.logs...), "\n")
		require.True(t, passed == (stay > 0) && strings.Contains(text, want), text)
		runtime.KeepAlive(w)
	}
}

// A kept is a map whose entries timers or goroutines take away.
type kept struct {
	mu      sync.Mutex
	calls   int
	entries map[int]*stamped
}

func (k *kept) add() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	k.entries[k.calls] = &stamped{value: 1}
	return k.calls
}

func (k *kept) drop(call int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.entries, call)
}

// What timers and sleeping goroutines take away within the wait is no leak. What they leave is, and
// so are timers that are set again and goroutines that go on.
func TestGrowthThatTimersTakeAway(t *testing.T) {
	require.Slow(t)
	fillCut(t)
	var over atomic.Bool
	before := runtime.NumGoroutine()
	defer func() { // later tests count goroutines
		over.Store(true)
		for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before+10 && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	}()
	for what, test := range map[string]struct {
		later func(k *kept, call int)
		leak  string // what the message says; "" if there is no leak
	}{
		"timers": {func(k *kept, call int) {
			time.AfterFunc(8*time.Second, func() { k.drop(call) })
		}, ""},
		"goroutines": {func(k *kept, call int) {
			go func() { time.Sleep(6 * time.Second); k.drop(call) }()
		}, ""},
		"timers that take away others": {func(k *kept, call int) {
			time.AfterFunc(6*time.Second, func() { k.drop(-call) })
		}, "+1.00 *leakcheck_test.stamped/op"},
		"timers that are set again": {func(_ *kept, _ int) {
			var again func()
			stop := time.Now().Add(time.Minute)
			again = func() {
				if time.Now().Before(stop) {
					time.AfterFunc(8*time.Second, again)
				}
			}
			again()
		}, "+1.00 timer/op"},
		"goroutines that go on": {func(k *kept, call int) {
			go func() {
				for i := 0; i < 12 && !over.Load(); i++ {
					time.Sleep(6 * time.Second)
					k.drop(call)
				}
			}()
		}, "+1.00 goroutine/op"},
	} {
		k := &kept{entries: make(map[int]*stamped)}
		ft := &recordingT{name: "TestKept"}
		passed := leakcheck.AssertNoGrowth(ft, func() { test.later(k, k.add()) }, leakcheck.Iterations(100))
		text := strings.Join(append(ft.errors, ft.logs...), "\n")
		told := strings.Contains(text, test.leak) && (test.leak != "" || saysWhatGoes(text))
		require.True(t, passed == (test.leak == "") && told && !strings.Contains(text, "UNKNOWN"), "%s: %s", what, text)
		runtime.KeepAlive(k)
	}
}
