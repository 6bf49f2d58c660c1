package leakcheck_test

import (
	"container/list"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck"
)

// stay is how long the windows below keep an entry: longer than this test takes.
const stay = time.Hour

type stamped struct {
	at    time.Time
	value float64
}

type sample struct {
	unix  uint32
	value float32
}

type samples struct{ took []time.Duration }

// A windowed program keeps an entry for each call, as long as the window lasts.
type windowed struct {
	entries  []stamped
	pointers []*stamped
	millis   []int64
	small    []sample
	byName   map[int]*stamped
	byMicro  map[int64]*stamped
	bySecond map[int64]*samples
	recent   list.List
}

func (w *windowed) addEntry(int) {
	w.entries = append(w.entries, stamped{at: time.Now()})
	for time.Since(w.entries[0].at) > stay {
		w.entries = w.entries[1:]
	}
}

func (w *windowed) addPointer(int) {
	w.pointers = append(w.pointers, &stamped{at: time.Now().UTC().Round(0)})
	for time.Since(w.pointers[0].at) > stay {
		w.pointers = w.pointers[1:]
	}
}

func (w *windowed) addMillis(int) {
	w.millis = append(w.millis, time.Now().UnixMilli())
	for time.Since(time.UnixMilli(w.millis[0])) > stay {
		w.millis = w.millis[1:]
	}
}

func (w *windowed) addSmall(int) {
	w.small = append(w.small, sample{unix: uint32(time.Now().Unix()), value: 1})
	for time.Since(time.Unix(int64(w.small[0].unix), 0)) > stay {
		w.small = w.small[1:]
	}
}

func (w *windowed) addName(call int) {
	w.byName[call] = &stamped{at: time.Now()}
	for name, s := range w.byName {
		if time.Since(s.at) > stay {
			delete(w.byName, name)
		}
	}
}

func (w *windowed) addMicro(int) {
	now := time.Now().UnixMicro()
	for w.byMicro[now] != nil { // each call has a microsecond of its own
		now = time.Now().UnixMicro()
	}
	w.byMicro[now] = &stamped{}
	for at := range w.byMicro {
		if now-at > stay.Microseconds() {
			delete(w.byMicro, at)
		}
	}
}

// addSecond keeps what hystrix does: what the calls of each second took.
func (w *windowed) addSecond(int) {
	now := time.Now().Unix()
	if w.bySecond[now] == nil {
		w.bySecond[now] = &samples{}
	}
	w.bySecond[now].took = append(w.bySecond[now].took, time.Millisecond)
	for at := range w.bySecond {
		if now-at > int64(stay.Seconds()) {
			delete(w.bySecond, at)
		}
	}
}

func (w *windowed) addRecent(int) {
	w.recent.PushBack(&stamped{at: time.Now()})
	for time.Since(w.recent.Front().Value.(*stamped).at) > stay {
		w.recent.Remove(w.recent.Front())
	}
}

// A dated program has times, and keeps entries that have none of this test.
type dated struct {
	began   time.Time
	numbers []int64
	old     []*stamped
	byID    map[int64]*stamped
}

// Growth is told to be a window of time, perhaps, where what grows has recent times. It fails all
// the same.
func TestGrowthOfWindows(t *testing.T) {
	fillCut(t)
	w := &windowed{byName: make(map[int]*stamped), byMicro: make(map[int64]*stamped), bySecond: make(map[int64]*samples)}
	d := &dated{began: time.Now(), byID: make(map[int64]*stamped)}
	tests := []struct {
		what, where string
		op          func(call int)
	}{
		{"a slice of entries", "entries", w.addEntry},
		{"a slice of pointers", "pointers[*]", w.addPointer},
		{"an array of milliseconds", "millis", w.addMillis},
		{"seconds of 32 bits", "small", w.addSmall},
		{"a map with times in its values", "byName[*]", w.addName},
		{"a map with times for keys", "byMicro", w.addMicro},
		{"figures for each second", "bySecond", w.addSecond},
		{"a list", "recent.root.next.Value", w.addRecent},
		{"numbers", "", func(call int) { d.numbers = append(d.numbers, 1e9+int64(call), rand.Int64()) }},
		{"durations", "", func(int) { d.numbers = append(d.numbers, int64(time.Since(d.began))) }},
		{"entries of long ago", "", func(call int) { d.old = append(d.old, &stamped{at: time.Unix(int64(call), 0)}) }},
		{"entries with numbers", "", func(call int) { d.byID[int64(call)<<20] = &stamped{value: 1} }},
	}
	for i := 0; i < len(tests); i += require.Rounds(3, 1) {
		test := tests[i]
		if os.Getenv("LEAKGATE_FREEZE") == "inplace" && (test.where == "millis" || test.where == "small") {
			continue // a copy in place has no large arrays without pointers
		}
		calls := 0
		d.numbers = nil
		ft := &recordingT{name: "TestWindow"}
		passed := leakcheck.AssertNoGrowth(ft, func() { calls++; test.op(calls) }, leakcheck.Iterations(100))
		message := strings.Join(ft.errors, "\n")
		require.True(t, !passed && strings.Contains(message, "memory grows"), "%s: %s %s", test.what, message, ft.logs)
		_, told, _ := strings.Cut(message, "may be a window of time: the times in ")
		where, _, _ := strings.Cut(told, " are of the last ")
		require.True(t, strings.HasSuffix(where, test.where) && (where == "") == (test.where == ""), "%s: %s", test.what, message)
	}
	runtime.KeepAlive(w)
	runtime.KeepAlive(d)
}
