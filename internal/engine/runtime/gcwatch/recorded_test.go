package gcwatch_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/runtime/gcwatch"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func findRecords(t *testing.T) (*gcwatch.Records, *gcwatch.Counters) {
	t.Helper()
	index, err := snapshot.OpenIndex(context.Background(), t.Logf)
	require.NoError(t, err)
	bias, err := snapshot.LoadBias(index)
	require.NoError(t, err)
	r, err := gcwatch.FindRecords(rtlayout.In(index, bias))
	require.NoError(t, err)
	c, err := gcwatch.FindCounters(rtlayout.In(index, bias))
	require.NoError(t, err)
	return r, c
}

var cycleSink, garbage []byte

//go:noinline
func allocateForOneCycle() { cycleSink = make([]byte, 32<<20) }

// sumOf is what allocateForOneCycle has allocated.
func sumOf(all []gcwatch.Recorded) (before, alive int64) {
	for _, r := range all {
		pcs := make([]uintptr, len(r.Stack))
		for i, pc := range r.Stack {
			pcs[i] = uintptr(pc)
		}
		for frames := runtime.CallersFrames(pcs); ; {
			f, more := frames.Next()
			if strings.HasSuffix(f.Function, ".allocateForOneCycle") {
				before, alive = before+r.Before, alive+r.Alive
			}
			if !more {
				break
			}
		}
	}
	return before, alive
}

// collect collects garbage, but not by runtime.GC, which publishes what it finds at once.
func collect(r *gcwatch.Records) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.NumGC
	percent := debug.SetGCPercent(0)
	for ; m.NumGC == before; runtime.ReadMemStats(&m) {
		garbage = make([]byte, 64<<10)
	}
	debug.SetGCPercent(percent)
	for !r.Swept(gcwatch.Self{}) {
		runtime.Gosched()
	}
}

// What was alive at the last mark phase and not before is told with its stack, also if it is
// garbage by now, until the next mark phase ends.
func TestRecords(t *testing.T) {
	r, _ := findRecords(t)
	of := func() (before, alive int64) {
		all, err := r.Read(gcwatch.Self{})
		require.NoError(t, err)
		return sumOf(all)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	collect(r)
	allocateForOneCycle()
	_, alive := of()
	require.Zero(t, alive, "no mark phase has ended since")
	collect(r)
	cycleSink = nil
	before, alive := of()
	require.Zero(t, before)
	require.True(t, alive >= 32<<20 && alive < 33<<20, alive)
	collect(r)
	before, alive = of()
	require.True(t, before >= 32<<20, before)
	require.Zero(t, alive, "it is gone")
	collect(r)
	allocateForOneCycle()
	runtime.GC()
	before, alive = of()
	cycleSink = nil
	require.Equal(t, alive, before, "published")
	require.True(t, alive >= 32<<20, alive)
}
