package refscan_test

import (
	"context"
	"reflect"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "it did not come to that")
	}
}

// A leaked goroutine is listed with its stack, its labels and what it keeps alive. Package live
// tests which goroutines are leaked.
func TestLeakedGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	wake := func() func() {
		c := make(chan int)
		hidden := ^uintptr(reflect.ValueOf(c).UnsafePointer())
		pprof.Do(context.Background(), pprof.Labels("case", "leaked"), func(context.Context) {
			go func() {
				p := newPayload()
				<-c
				p.id++
			}()
		})
		return func() {
			at := ^hidden
			close(*(*chan int)(unsafe.Pointer(&at)))
		}
	}()
	isCase := func(g *refscan.GoroutineStack) bool {
		return len(g.Labels) == 1 && g.Labels[0] == refscan.StackLabel{Key: "case", Value: "leaked"}
	}
	waitFor(t, func() bool {
		s, err := refscan.CaptureStacks()
		require.NoError(t, err)
		for _, g := range s.Goroutines {
			if isCase(g) && g.State == "waiting" {
				return true
			}
		}
		return false
	})
	s, err := refscan.Capture(refscan.WithoutSettling())
	require.NoError(t, err)
	found, err := s.LeakedGoroutines()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	listed := 0
	for _, l := range found {
		if isCase(l.GoroutineStack) {
			listed++
			assert.Equal(t, "chan receive", l.WaitReason)
			assert.EqualValues(t, 3, l.HeapObjects, "the channel, the payload and its data")
			assert.Greater(t, l.HeapBytes, int64(pairBytes))
		}
	}
	assert.Equal(t, 1, listed)
	wake()
	waitFor(t, func() bool { return runtime.NumGoroutine() <= before })
}
