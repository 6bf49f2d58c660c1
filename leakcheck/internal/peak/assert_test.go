package peak_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/peak"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A fakeT records what an assertion does to a test.
type fakeT struct{ errors, logs []string }

func (t *fakeT) Helper()                   {}
func (t *fakeT) Logf(f string, a ...any)   { t.logs = append(t.logs, fmt.Sprintf(f, a...)) }
func (t *fakeT) Errorf(f string, a ...any) { t.errors = append(t.errors, fmt.Sprintf(f, a...)) }

func (t *fakeT) text() string { return strings.Join(t.errors, "\n") }

func assertPeak(t environ.TestingT, op func(), most int64, calls request.Calls) bool {
	return peak.AssertPeak(assertion.ThisProcess(), t, environ.CallSite(1), op, &peak.Request{Calls: calls, Most: most})
}

var peakSink []byte

// churn makes garbage, and holds next to nothing.
func churn() {
	for i := range 3000 {
		peakSink = make([]byte, 100+i)
	}
}

var held [][]byte

// A peak that op leaves is always found: it is still there when a snapshot is taken, which shows
// what holds it and where it was allocated.
func TestPeakOfWhatStays(t *testing.T) {
	defer func() { held = nil }()
	ft := &fakeT{}
	require.False(t, assertPeak(ft, func() {
		for range 600 {
			held = append(held, make([]byte, 10_000))
		}
	}, 1<<20, request.Calls{}), ft.logs)
	text := ft.text()
	for _, part := range []string{
		"leakcheck: op adds more to the live heap than the test allows", "MaxBytes(1048576)", "more alive than before op: ",
		"in a snapshot at the end of a mark phase, ", "peak_test.held (assert_test.go:", "[*]  []uint8", "allocated at (about ", "op was called ",
	} {
		i := strings.Index(text, part)
		require.GreaterOrEqual(t, i, 0, "no %q in\n%s", part, ft.text())
		text = text[i:]
	}
}

// A peak that is gone when op returns is found, too.
func TestPeakOfGarbage(t *testing.T) {
	defer func() { held = nil }()
	ft := &fakeT{}
	assert.False(t, assertPeak(ft, func() {
		for range 3000 {
			held = append(held, make([]byte, 10_000))
		}
		runtime.GC()
		runtime.GC()
		held = nil
	}, 1<<20, request.Calls{}), ft.logs)
	assert.Contains(t, ft.text(), "leakcheck: op adds more to the live heap than the test allows")
}

// A dueT times out at once.
type dueT struct{ *fakeT }

func (t *dueT) Deadline() (time.Time, bool) { return time.Now(), true }

// An op that allocates no more than the bound is called once, or as often as the options say.
func TestPeakCalls(t *testing.T) {
	calls := 0
	op := func() { calls++; peakSink = make([]byte, 1000) }
	for _, c := range []struct {
		options request.Calls
		want    int
	}{{request.Calls{}, 1}, {request.Calls{Iterations: 3}, 3}, {request.Calls{Warmup: 2}, 3}, {request.Calls{Warmup: 1, Iterations: 2}, 3}} {
		calls = 0
		ft := &fakeT{}
		assert.True(t, assertPeak(ft, op, 1<<20, c.options), ft.text())
		assert.Equal(t, c.want, calls)
	}
}

// AssertPeak restores the settings that it changes for op, however op ends. Settings that op makes
// stay.
func TestPeakPutsSettingsBack(t *testing.T) {
	percent, rate := debug.SetGCPercent(150), runtime.MemProfileRate
	defer debug.SetGCPercent(percent)
	inOp := func() {
		now := debug.SetGCPercent(-1)
		assert.True(t, now < 150, now)
		debug.SetGCPercent(now)
		assert.True(t, runtime.MemProfileRate < rate, runtime.MemProfileRate)
	}
	assert.True(t, assertPeak(&fakeT{}, inOp, 1<<20, request.Calls{}))
	assert.Equal(t, 150, debug.SetGCPercent(150))
	assert.Equal(t, rate, runtime.MemProfileRate)
	assert.Panics(t, func() { assertPeak(&fakeT{}, func() { panic("op") }, 1<<20, request.Calls{}) })
	assert.Equal(t, 150, debug.SetGCPercent(150))
	ended := make(chan bool)
	go func() {
		defer close(ended)
		assertPeak(&fakeT{}, func() { inOp(); runtime.Goexit() }, 1<<20, request.Calls{})
	}()
	<-ended
	assert.Equal(t, 150, debug.SetGCPercent(150))
	assert.Equal(t, rate, runtime.MemProfileRate)
	assert.True(t, assertPeak(&fakeT{}, func() { debug.SetGCPercent(70) }, 1<<20, request.Calls{}))
	assert.Equal(t, 70, debug.SetGCPercent(150))
	debug.SetGCPercent(-1) // a program that turned collections off keeps them off
	assert.True(t, assertPeak(&fakeT{}, func() { assert.Equal(t, -1, debug.SetGCPercent(-1)) }, 1<<20, request.Calls{}))
	assert.Equal(t, -1, debug.SetGCPercent(150))
}

// An op that fails its test is not judged.
func TestPeakOfFailedOp(t *testing.T) {
	ft := &failingT{&fakeT{}}
	assert.False(t, assertPeak(ft, func() { ft.Errorf("op") }, 1, request.Calls{}))
	assert.Equal(t, []string{"op"}, ft.errors)
	assert.Contains(t, strings.Join(ft.logs, "\n"), "was not checked, because op failed the test")
}

type failingT struct{ *fakeT }

func (t *failingT) Failed() bool { return len(t.errors) > 0 }

func (t *failingT) Skipped() bool { return false }

// A test that is about to time out has the verdict unknown, with that cause.
func TestPeakOutOfTime(t *testing.T) {
	t.Setenv("LEAKGATE_STRICT", "1")
	ft := &dueT{&fakeT{}}
	assert.False(t, assertPeak(ft, churn, 1, request.Calls{}))
	assert.Contains(t, ft.text(), "UNKNOWN: could not tell how much op adds to the live heap")
	assert.Contains(t, ft.text(), "the test times out in ")
}
