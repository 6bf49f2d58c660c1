package leakcheck

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Peaks of a user's operations that exceed the bound for a while fail, and others pass.
func TestEndToEndPeaks(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	if out, ok := m.run(t, "peak", nil, "go", "test", "-vet=off", "-c", "-o", "peak.test", "-ldflags=-s=0 -w=0", "."); !ok {
		t.Fatal(out)
	}
	if out, ok := m.run(t, "peak", nil, "./peak.test", "-test.v"); !ok {
		t.Error(out)
	}
}

var peakSink []byte

// churn makes garbage, and holds next to nothing.
func churn() {
	for i := range 3000 {
		peakSink = make([]byte, 100+i)
	}
}

// A peak that op leaves is always found: it is still there when a snapshot is taken. Variables and
// functions of this package are the tool's own, so the test uses a variable of another package, and
// the message has no allocation stacks.
func TestPeakOfWhatStays(t *testing.T) {
	was := os.Args
	defer func() { os.Args = was }()
	ft := &fakeT{}
	require.False(t, AssertPeak(ft, func() {
		for range 600 {
			os.Args = append(os.Args, string(make([]byte, 10_000)))
		}
	}, MaxBytes(1<<20)), ft.logs)
	wantInOrder(t, ft.errorText(), "leakcheck: op adds more to the live heap than the test allows", "MaxBytes(1048576)",
		"more alive than before op: ", "in a snapshot at the end of a mark phase, ", "held by the package variable os.Args", "[*]  string", "op was called ")
}

// A dueT times out at once.
type dueT struct{ fakeT }

func (t *dueT) Deadline() (time.Time, bool) { return time.Now(), true }

// Invalid options are reported, and op is not called.
func TestPeakMisuse(t *testing.T) {
	never := func() { t.Error("op is called") }
	for text, assertPeak := range map[string]func(TestingT) bool{
		"AssertPeak: op is nil":                                       func(t TestingT) bool { return AssertPeak(t, nil, MaxBytes(1)) },
		"MaxBytes(-1): a bound cannot be negative":                    func(t TestingT) bool { return AssertPeak(t, never, MaxBytes(-1)) },
		"a zero PeakBound: make it with MaxBytes":                     func(t TestingT) bool { return AssertPeak(t, never, PeakBound{}) },
		"option 1 is nil":                                             func(t TestingT) bool { return AssertPeak(t, never, MaxBytes(1), nil) },
		"Iterations(0): op must be called at least once a batch":      func(t TestingT) bool { return AssertPeak(t, never, MaxBytes(1), Iterations(0)) },
		"Warmup(0): op must be called at least once before the first": func(t TestingT) bool { return AssertPeak(t, never, MaxBytes(1), Warmup(0)) },
	} {
		ft := &fakeT{}
		assert.False(t, assertPeak(ft), text)
		assert.Contains(t, ft.errorText(), text)
	}
	assert.Panics(t, func() { AssertPeak(nil, never, MaxBytes(1)) })
	assert.Panics(t, func() { AssertPeak((*testing.T)(nil), never, MaxBytes(1)) })
}

// An op that allocates no more than the bound is called once, or as often as the options say.
func TestPeakCalls(t *testing.T) {
	calls := 0
	op := func() { calls++; peakSink = make([]byte, 1000) }
	for _, c := range []struct {
		options []PeakOption
		want    int
	}{{nil, 1}, {[]PeakOption{Iterations(3)}, 3}, {[]PeakOption{Warmup(2)}, 3}, {[]PeakOption{Warmup(1), Iterations(2)}, 3}} {
		calls = 0
		ft := &fakeT{}
		assert.True(t, AssertPeak(ft, op, MaxBytes(1<<20), c.options...), ft.errorText())
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
	assert.True(t, AssertPeak(&fakeT{}, inOp, MaxBytes(1<<20)))
	assert.Equal(t, 150, debug.SetGCPercent(150))
	assert.Equal(t, rate, runtime.MemProfileRate)
	assert.Panics(t, func() { AssertPeak(&fakeT{}, func() { panic("op") }, MaxBytes(1<<20)) })
	assert.Equal(t, 150, debug.SetGCPercent(150))
	ended := make(chan bool)
	go func() {
		defer close(ended)
		AssertPeak(&fakeT{}, func() { inOp(); runtime.Goexit() }, MaxBytes(1<<20))
	}()
	<-ended
	assert.Equal(t, 150, debug.SetGCPercent(150))
	assert.Equal(t, rate, runtime.MemProfileRate)
	assert.True(t, AssertPeak(&fakeT{}, func() { debug.SetGCPercent(70) }, MaxBytes(1<<20)))
	assert.Equal(t, 70, debug.SetGCPercent(150))
	debug.SetGCPercent(-1) // a program that turned collections off keeps them off
	assert.True(t, AssertPeak(&fakeT{}, func() { assert.Equal(t, -1, debug.SetGCPercent(-1)) }, MaxBytes(1<<20)))
	assert.Equal(t, -1, debug.SetGCPercent(150))
}

// An op that fails its test is not judged.
func TestPeakOfFailedOp(t *testing.T) {
	ft := &failingT{}
	assert.False(t, AssertPeak(ft, func() { ft.Errorf("op") }, MaxBytes(1)))
	assert.Equal(t, []string{"op"}, ft.errors)
	assert.True(t, ft.logged("was not checked, because op failed the test"), ft.logs)
}

type failingT struct{ fakeT }

func (t *failingT) Failed() bool { return len(t.errors) > 0 }

func (t *failingT) Skipped() bool { return false }

// A test that is about to time out has the verdict unknown, with that cause.
func TestPeakOutOfTime(t *testing.T) {
	t.Setenv("LEAKGATE_STRICT", "1")
	ft := &dueT{}
	assert.False(t, AssertPeak(ft, churn, MaxBytes(1)))
	assert.Contains(t, ft.errorText(), "UNKNOWN: could not tell how much op adds to the live heap")
	assert.Contains(t, ft.errorText(), "the test times out in ")
}
