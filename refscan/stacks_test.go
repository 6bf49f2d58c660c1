//go:build go1.26

package refscan_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// parked starts n goroutines that run f, which must call its argument to park. They end with the
// test.
func parked(t *testing.T, n int, f func(park func())) {
	t.Helper()
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	ready.Add(n)
	for range n {
		done.Go(func() {
			f(func() {
				ready.Done()
				<-release
			})
		})
	}
	ready.Wait()
	t.Cleanup(func() {
		close(release)
		done.Wait()
	})
}

// stackMetrics are the runtime's figures for stack memory.
func stackMetrics() (heap, os int64) {
	m := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/os-stacks:bytes"}}
	metrics.Read(m)
	return int64(m[0].Value.Uint64()), int64(m[1].Value.Uint64())
}

// captureStacks captures while nothing else changes the stacks, and checks every sum.
func captureStacks(t *testing.T) *refscan.Stacks {
	t.Helper()
	for range 20 {
		s, err := refscan.CaptureStacks()
		require.NoError(t, err)
		require.Zero(t, s.Unattributed, "%+v", s.Others)
		require.Empty(t, s.Warnings)
		sum := int64(0)
		for _, g := range s.Goroutines {
			checkGoroutine(t, g)
			sum += g.Size()
		}
		for _, o := range s.Others {
			require.Positive(t, o.Bytes, o.Kind)
			sum += o.Bytes
		}
		require.Equal(t, s.HeapBytes+s.OSBytes, sum)
		// A goroutine that starts or ends after the snapshot changes the runtime's figures, so
		// there are several attempts.
		if heap, os := stackMetrics(); heap == s.HeapBytes && os == s.OSBytes {
			return s
		}
		time.Sleep(time.Millisecond)
	}
	require.Fail(t, "the runtime's figures never agreed with those of the snapshot")
	return nil
}

// checkGoroutine calls no assertion unless something is wrong, since there may be 200,000
// goroutines.
func checkGoroutine(t *testing.T, g *refscan.GoroutineStack) {
	t.Helper()
	sum := g.Trace.Base
	for _, f := range g.Trace.Frames {
		if f.Func == "" || f.Size < 0 {
			require.Fail(t, "a frame without name or with a negative size", "%+v in %+v", f, g)
		}
		sum += f.Size
	}
	switch outermost := len(g.Trace.Frames) - 1; {
	case g.Trace.Problem != "" || g.Trace.Unknown != 0:
		require.Fail(t, g.Trace.Problem, "%+v", g)
	case g.Used() != sum || g.Size() != g.Used()+g.Free():
		require.Fail(t, "the sizes of the frames are not that of the stack", "%d in %+v", sum, g)
	case g.Trace.Frames[outermost].Func != "runtime.goexit" || g.State == "":
		require.Fail(t, "no end or no state", "%+v", g)
	}
}

// find returns the goroutines that have a function on their stack, inlined ones included.
func find(s *refscan.Stacks, fn string) []*refscan.GoroutineStack {
	var out []*refscan.GoroutineStack
	for _, g := range s.Goroutines {
		for _, name := range logical(g) {
			if strings.HasSuffix(name, fn) {
				out = append(out, g)
				break
			}
		}
	}
	return out
}

// logical returns the names of the functions on a stack, inlined ones included, the innermost
// first.
func logical(g *refscan.GoroutineStack) []string {
	var names []string
	for _, f := range g.Trace.Frames {
		for _, in := range f.Inlined {
			names = append(names, in.Func)
		}
		names = append(names, f.Func)
	}
	return names
}

func TestStacksAccount(t *testing.T) {
	counts := []int{10, require.Rounds(2_000, 10_000)}
	if os.Getenv("LEAKGATE_LONG") == "1" {
		counts = append(counts, 200_000)
	}
	for _, n := range counts {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			parked(t, n, parkDirectly)
			captureStacks(t) // the first one reads debug information
			started := time.Now()
			_, err := refscan.CaptureStacks()
			took := time.Since(started)
			require.NoError(t, err)
			s := captureStacks(t)
			t.Logf("%d goroutines, %d bytes: captured in %s, world stopped for %s", n, s.HeapBytes, took, s.Pause)
			mine := find(s, ".parkDirectly")
			require.Len(t, mine, n)
			for _, g := range mine {
				if g.Trace != mine[0].Trace {
					require.Fail(t, "goroutines in one place do not share their trace")
				}
			}
		})
	}
}

//go:noinline
func parkDirectly(park func()) { park() }

// TestStacksOfEndedGoroutines: such stacks are kept for the next goroutine, or are in caches and
// the pool.
func TestStacksOfEndedGoroutines(t *testing.T) {
	for range 5 {
		var wg sync.WaitGroup
		for i := range 500 {
			wg.Go(func() { grow(i%60, nil) })
		}
		wg.Wait()
		s := captureStacks(t)
		idle := int64(0)
		for _, o := range s.Others {
			switch o.Kind {
			case refscan.StackEnded, refscan.StackCached, refscan.StackPooled, refscan.StackLargeFree:
				idle += o.Count
			}
		}
		assert.Positive(t, idle)
	}
}

// grow recurses and records the addresses of its frames. Neighbours of a recursion are a frame
// apart.
//
//go:noinline
func grow(depth int, atBottom func(), addresses ...uintptr) byte {
	var local [1000]byte
	local[depth%len(local)] = byte(depth)
	addresses = append(addresses, uintptr(unsafe.Pointer(&local)))
	if depth == 0 {
		if atBottom != nil {
			frameAddresses = addresses
			atBottom()
		}
		return local[0]
	}
	return grow(depth-1, atBottom, addresses...) + local[depth%len(local)]
}

var frameAddresses []uintptr

func TestFrameSizes(t *testing.T) {
	parked(t, 1, func(park func()) { grow(20, nil); grow(5, park) })
	size := int64(frameAddresses[0] - frameAddresses[1])
	require.Greater(t, size, int64(1000))

	for name, capture := range map[string]func() (*refscan.Stacks, error){
		"CaptureStacks": func() (*refscan.Stacks, error) { return refscan.CaptureStacks() },
		"Snapshot": func() (*refscan.Stacks, error) {
			snapshot, err := refscan.Capture(refscan.WithoutSettling())
			if err != nil {
				return nil, err
			}
			defer func() { _ = snapshot.Close() }()
			return snapshot.Stacks()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := capture()
			require.NoError(t, err)
			require.Zero(t, s.Unattributed)
			mine := find(s, ".grow")
			require.Len(t, mine, 1)
			frames := 0
			for _, f := range mine[0].Trace.Frames {
				if strings.HasSuffix(f.Func, ".grow") {
					frames++
					assert.Equal(t, size, f.Size)
				}
			}
			assert.Equal(t, 6, frames)
		})
	}
}

func TestDeepStack(t *testing.T) {
	const depth = 20_000
	parked(t, 1, func(park func()) { recurse(depth, park) })
	s := captureStacks(t)
	mine := find(s, ".recurse")
	require.Len(t, mine, 1)
	assert.Greater(t, len(mine[0].Trace.Frames), depth)
}

//go:noinline
func recurse(depth int, atBottom func()) int {
	if depth == 0 {
		atBottom()
		return 0
	}
	return recurse(depth-1, atBottom) + 1
}

func TestStackLabels(t *testing.T) {
	parked(t, 3, func(park func()) {
		pprof.Do(context.Background(), pprof.Labels("tenant", fmt.Sprint("a", "cme"), "kind", "worker"), func(context.Context) {
			parkDirectly(park)
		})
	})
	for name, s := range map[string]*refscan.Stacks{"stacks": captureStacks(t), "snapshot": snapshotStacks(t)} {
		mine := find(s, ".parkDirectly")
		require.Len(t, mine, 3, name)
		for _, g := range mine {
			assert.Equal(t, []refscan.StackLabel{{Key: "kind", Value: "worker"}, {Key: "tenant", Value: "acme"}}, g.Labels, name)
		}
	}
}

func snapshotStacks(t *testing.T) *refscan.Stacks {
	t.Helper()
	snapshot, err := refscan.Capture(refscan.WithoutSettling())
	require.NoError(t, err)
	defer func() { require.NoError(t, snapshot.Close()) }()
	s, err := snapshot.Stacks()
	require.NoError(t, err)
	return s
}

// TestStacksUnderSynctest: goroutines of a bubble are walked like others.
func TestStacksUnderSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		go parkDirectly(func() { <-release })
		synctest.Wait()
		s, err := refscan.CaptureStacks()
		assert.NoError(t, err)
		if err == nil {
			assert.Zero(t, s.Unattributed)
			assert.Len(t, find(s, ".parkDirectly"), 1)
		}
		close(release)
	})
}

// TestStacksUnderLoad captures while goroutines run, grow their stacks and end. Whatever they
// do, no memory may be missing.
func TestStacksUnderLoad(t *testing.T) {
	long(t)
	require.Slow(t)
	stop := make(chan struct{})
	var spinning atomic.Bool
	var wg sync.WaitGroup
	spinning.Store(true)
	wg.Go(func() { spin(&spinning) })
	for range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				done := make(chan byte)
				go func() { done <- grow(i%40, nil) }()
				<-done
				if i%100 == 0 {
					runtime.GC()
				}
			}
		})
	}
	for range 50 {
		s, err := refscan.CaptureStacks()
		require.NoError(t, err)
		require.Zero(t, s.Unattributed, "%+v", s.Others)
		for _, g := range s.Goroutines {
			checkGoroutine(t, g)
		}
	}
	spinning.Store(false)
	close(stop)
	wg.Wait()
}

// spin has no calls, so it can only be stopped by asynchronous preemption, at any instruction.
func spin(on *atomic.Bool) {
	for on.Load() {
	}
}

func TestStacksOfClosedSnapshot(t *testing.T) {
	snapshot, err := refscan.Capture(refscan.WithoutSettling())
	require.NoError(t, err)
	require.NoError(t, snapshot.Close())
	_, err = snapshot.Stacks()
	var unavailable *refscan.UnavailableError
	require.ErrorAs(t, err, &unavailable)
	assert.Contains(t, unavailable.Cause, "closed")
}
