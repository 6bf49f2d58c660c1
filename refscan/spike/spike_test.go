package spike_test

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/spikerule"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan/spike"
)

func TestStartRefuses(t *testing.T) {
	tell := func(*spike.Spike) {}
	for want, c := range map[string]spike.Config{
		"no threshold":      {OnSpike: tell},
		"OnSpike is nil":    {Share: 1},
		"a share of -1":     {Share: -1, OnSpike: tell},
		"-5 bytes more":     {Bytes: -5, OnSpike: tell},
		"Interval -1s":      {Share: 1, Interval: -time.Second, OnSpike: tell},
		"PerDay -1":         {Share: 1, PerDay: -1, OnSpike: tell},
		"a share of NaN of": {Share: nan(), OnSpike: tell},
	} {
		w, err := spike.Start(c)
		require.ErrorContains(t, err, want)
		require.Nil(t, w)
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

// held is the memory of a spike.
var held []byte

// collectUntil collects garbage until it receives from c.
func collectUntil[T any](c <-chan T) (v T) {
	for {
		select {
		case v = <-c:
			return v
		default:
			runtime.GC()
			runtime.Gosched()
		}
	}
}

const size = 64 << 20

// start starts a watcher that takes no snapshots for comparison, and waits until it is ready.
func start(t *testing.T, c spike.Config) (*spike.Watcher, <-chan *spike.Spike) {
	t.Helper()
	if !spike.SeesGarbage() {
		t.Skip("there is no debug information of the test here; the tool's own memory is in no snapshot, so that nothing shows a spike")
	}
	// A collection that an allocation starts finds the new memory in a frame of the runtime.
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	spikes := make(chan *spike.Spike, 10)
	onSpike := c.OnSpike
	c.OnSpike = func(s *spike.Spike) {
		if onSpike != nil {
			onSpike(s)
		}
		spikes <- s
	}
	c.Bytes, c.Base = size/2, -1
	w, err := spike.Start(c)
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	collectUntil(w.Ready())
	return w, spikes
}

// Spikes that limits leave out are counted with the next spike.
func TestPerDay(t *testing.T) {
	var later atomic.Int64
	spike.SetClock(t, func() time.Time { return time.Now().Add(time.Duration(later.Load())) })
	_, spikes := start(t, spike.Config{PerDay: 1})
	spike.Own = make([]byte, size)
	s := collectUntil(spikes)
	spike.Own = nil
	assert.Zero(t, s.LeftOut)
	assert.True(t, s.Live >= s.Usual+size/2, "%d, %d", s.Live, s.Usual)
	assert.False(t, s.Held, "the tool's own is not in the snapshot")
	fall(t)
	held = make([]byte, size)
	for range 3 {
		// A jump that may be garbage is not counted for some seconds after one that was.
		later.Add(int64(time.Minute))
		next(t)
	}
	require.Empty(t, spikes)
	fall(t)
	later.Add(int64(24 * time.Hour))
	held = make([]byte, size)
	s = collectUntil(spikes)
	assert.True(t, s.Held)
	held = nil
	assert.Positive(t, s.LeftOut)
	assert.Contains(t, s.String(), "beyond the threshold left out because of the limits\n")
}

// Mark phases that end while OnSpike runs are not judged, and are counted.
func TestMissed(t *testing.T) {
	const meanwhile = 5
	_, spikes := start(t, spike.Config{Interval: time.Nanosecond, OnSpike: func(*spike.Spike) {
		for range meanwhile {
			runtime.GC()
		}
	}})
	held = make([]byte, size)
	first := collectUntil(spikes)
	fall(t)
	held = make([]byte, size)
	second := collectUntil(spikes)
	held = nil
	assert.GreaterOrEqual(t, second.Missed, first.Missed+meanwhile)
}

// fall releases the held memory, and collects until the usual amount is low again.
func fall(t *testing.T) {
	t.Helper()
	held = nil
	for range spikerule.Window {
		next(t)
	}
}

// next collects garbage, and returns when watchers have read the collection.
func next(t *testing.T) {
	t.Helper()
	before := spike.Readings()
	runtime.GC()
	for spike.Readings() == before {
		runtime.GC()
		runtime.Gosched()
	}
}

// Two watchers take turns.
func TestTwoWatchers(t *testing.T) {
	_, first := start(t, spike.Config{})
	_, second := start(t, spike.Config{})
	held = make([]byte, size)
	a, b := collectUntil(first), collectUntil(second)
	held = nil
	assert.Positive(t, a.Cycle)
	assert.Positive(t, b.Cycle)
	assert.NotEmpty(t, a.String())
}

// A callback may stop its watcher, and others.
func TestStopInCallback(t *testing.T) {
	watcher, stopped := make(chan *spike.Watcher, 1), make(chan struct{})
	w, spikes := start(t, spike.Config{OnSpike: func(*spike.Spike) {
		(<-watcher).Stop()
		close(stopped)
	}})
	watcher <- w
	held = make([]byte, size)
	collectUntil(stopped)
	held = nil
	w.Stop() // waits for the callback
	require.Len(t, spikes, 1)
	<-w.Ready()
}

// Stop leaves no goroutine, even if the watcher has just started.
func TestStop(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		w, err := spike.Start(spike.Config{Share: 1, OnSpike: func(*spike.Spike) {}})
		require.NoError(t, err)
		w.Stop()
		<-w.Ready()
	}
	for runtime.NumGoroutine() > before { // one that is about to end
		runtime.Gosched()
	}
}
