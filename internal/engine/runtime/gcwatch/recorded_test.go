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

func findRecords(t *testing.T) *gcwatch.Records {
	t.Helper()
	index, err := snapshot.OpenIndex(context.Background(), t.Logf)
	require.NoError(t, err)
	bias, err := snapshot.LoadBias(index)
	require.NoError(t, err)
	r, err := gcwatch.FindRecords(rtlayout.In(index, bias))
	require.NoError(t, err)
	return r
}

var cycleSink, garbage []byte

//go:noinline
func allocateForOneCycle() { cycleSink = make([]byte, 32<<20) }

// What was alive at the last mark phase and not before is told with its stack, also if it is
// garbage by now, until the next mark phase ends.
func TestRecords(t *testing.T) {
	r := findRecords(t)
	of := func() (before, alive int64) {
		grown, err := r.Read(gcwatch.Self{})
		require.NoError(t, err)
		for _, g := range grown {
			pcs := make([]uintptr, len(g.Stack))
			for i, pc := range g.Stack {
				pcs[i] = uintptr(pc)
			}
			for frames := runtime.CallersFrames(pcs); ; {
				f, more := frames.Next()
				if strings.HasSuffix(f.Function, ".allocateForOneCycle") {
					before, alive = before+g.Before, alive+g.Alive
				}
				if !more {
					break
				}
			}
		}
		return before, alive
	}
	// Not by runtime.GC, which publishes what it finds at once.
	var m runtime.MemStats
	collect := func() {
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
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	collect()
	allocateForOneCycle()
	_, alive := of()
	require.Zero(t, alive, "no mark phase has ended since")
	collect()
	cycleSink = nil
	before, alive := of()
	require.Zero(t, before)
	require.True(t, alive >= 32<<20 && alive < 33<<20, alive)
	collect()
	before, alive = of()
	require.True(t, before >= 32<<20, before)
	require.Zero(t, alive, "it is gone")
	collect()
	allocateForOneCycle()
	runtime.GC()
	before, alive = of()
	cycleSink = nil
	require.Equal(t, alive, before, "published")
	require.True(t, alive >= 32<<20, alive)
}
