package refscan_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/refscan"
)

// parked starts goroutines that run f, which must call its argument to park; they end with the test.
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
		// A goroutine that was just then started or ended makes a difference to what the runtime
		// says afterwards, so there is more than one try.
		if heap, os := stackMetrics(); heap == s.HeapBytes && os == s.OSBytes {
			return s
		}
		time.Sleep(time.Millisecond)
	}
	require.Fail(t, "the runtime's figures never agreed with those of the snapshot")
	return nil
}

// checkGoroutine makes no call of testify unless something is wrong, since there may be 200,000.
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

// find returns the goroutines with a function on their stack, inlined ones included.
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

// logical returns the names on a stack, the innermost first.
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
	counts := []int{10, 10_000}
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

// TestStacksOfEndedGoroutines: their stacks wait for the next goroutine, or lie in caches and the pool.
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

// grow recurses and notes where its frames lie. Neighbours of a recursion are a frame apart.
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

// inlinedOuter and inlinedInner are small enough to be inlined into their caller.
func inlinedOuter(park func()) { inlinedInner(park) }

func inlinedInner(park func()) { park() }

//go:noinline
func callsInlined(park func()) {
	inlinedOuter(park)
	runtime.KeepAlive(park)
}

//go:noinline
func panics(park func()) {
	defer func() {
		_ = recover()
	}()
	defer park()
	panic("on purpose")
}

//go:noinline
func nilCall(park func()) {
	defer func() { _ = recover() }()
	defer park()
	var p *[1 << 8]int
	p[runtime.NumGoroutine()&1]++
}

//go:noinline
func openCoded(park func()) {
	defer runtime.KeepAlive(park)
	defer func() {
		park()
	}()
}

//go:noinline
func locked(park func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	park()
}

// traceHeader, traceCall and traceCreated take runtime.Stack's text apart.
var (
	traceHeader  = regexp.MustCompile(`^goroutine (\d+) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^\],(]+?(?: \([^)]*\))?)(?:, [^\]]*)?\]`)
	traceCreated = regexp.MustCompile(`^created by (\S+?)(?: in goroutine (\d+))?$`)
	traceCall    = regexp.MustCompile(`^(\S.*)\([^()]*\)$`)
)

type traceback struct {
	state   string
	calls   []string
	created string
	creator uint64
}

// tracebacks parses what the runtime itself says of all goroutines.
func tracebacks() map[uint64]*traceback {
	text := make([]byte, 1<<22)
	text = text[:runtime.Stack(text, true)]
	out := make(map[uint64]*traceback)
	var at *traceback
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		line := lines.Text()
		if m := traceHeader.FindStringSubmatch(line); m != nil {
			id, _ := strconv.ParseUint(m[1], 10, 64)
			at = &traceback{state: m[2]}
			out[id] = at
		} else if m := traceCreated.FindStringSubmatch(line); m != nil {
			at.created = m[1]
			at.creator, _ = strconv.ParseUint(m[2], 10, 64)
		} else if m := traceCall.FindStringSubmatch(line); m != nil {
			at.calls = append(at.calls, strings.TrimSuffix(m[1], "(...)"))
		}
	}
	return out
}

// TestTraces compares what is read out of the frozen process with the runtime's own tracebacks.
func TestTraces(t *testing.T) {
	for _, f := range []func(func()){parkDirectly, callsInlined, panics, nilCall, openCoded, locked} {
		parked(t, 2, f)
	}
	parked(t, 1, func(park func()) { recurse(30, park) })
	inSyscall(t)
	var mu sync.Mutex
	mu.Lock()
	go waitsForMutex(&mu)
	defer mu.Unlock()
	timer := make(chan time.Time)
	go waitsInSelect(timer)
	defer close(timer)
	time.Sleep(20 * time.Millisecond) // let them block; if they have not, the comparison just sees less

	s := captureStacks(t)
	want := tracebacks()
	compared := 0
	for _, g := range s.Goroutines {
		if g.Self || g.System {
			continue
		}
		w := want[g.ID]
		require.NotNil(t, w, "goroutine %d of %s", g.ID, g.Entry)
		compared++
		assert.Equal(t, strings.Join(visible(w.calls), "\n"), strings.Join(visible(logical(g)), "\n"), g.Entry)
		state := g.State
		if g.WaitReason != "" {
			state = g.WaitReason
		}
		assert.Equal(t, w.state, state, g.Entry)
		if w.created != "" {
			assert.Equal(t, w.created, g.CreatedBy)
			assert.Equal(t, w.creator, g.CreatorID)
		}
	}
	assert.Greater(t, compared, 15)

	for _, g := range find(s, ".locked") {
		assert.True(t, g.LockedToThread)
	}
	for _, g := range find(s, ".parkDirectly") {
		assert.False(t, g.LockedToThread)
	}
	require.Len(t, find(s, ".locked"), 2)
	inlined := find(s, ".inlinedInner")
	require.Len(t, inlined, 2)
	for _, f := range inlined[0].Trace.Frames {
		if strings.HasSuffix(f.Func, ".callsInlined") && len(f.Inlined) > 0 {
			assert.Len(t, f.Inlined, 2)
			assert.True(t, strings.HasSuffix(f.Inlined[0].Func, ".inlinedInner"))
			assert.Less(t, f.Inlined[0].Line, f.Line)
		}
	}
}

// visible leaves out what the runtime's tracebacks leave out: its own functions and wrappers.
func visible(names []string) []string {
	var out []string
	for _, n := range names {
		if strings.HasPrefix(n, "runtime.") || n == "panic" || strings.Contains(n, ".gowrap") || strings.Contains(n, ".deferwrap") {
			continue
		}
		out = append(out, strings.ReplaceAll(n, "[...]", ""))
	}
	return out
}

func waitsForMutex(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

func waitsInSelect(c chan time.Time) {
	select {
	case <-c:
	case <-time.After(time.Hour):
	}
}

// inSyscall starts a goroutine that blocks in a system call until the test ends.
func inSyscall(t *testing.T) {
	t.Helper()
	var ends [2]int
	require.NoError(t, syscall.Pipe(ends[:]))
	done := make(chan struct{})
	go func() {
		defer close(done)
		blockInRead(ends[0])
	}()
	t.Cleanup(func() {
		_, err := syscall.Write(ends[1], []byte{1})
		assert.NoError(t, err)
		<-done
		assert.NoError(t, syscall.Close(ends[0]))
		assert.NoError(t, syscall.Close(ends[1]))
	})
	require.Eventually(t, func() bool {
		for _, g := range tracebacks() {
			if g.state == "syscall" && strings.Contains(strings.Join(g.calls, " "), "blockInRead") {
				return true
			}
		}
		return false
	}, 10*time.Second, time.Millisecond)
}

//go:noinline
func blockInRead(fd int) {
	var b [1]byte
	_, _ = syscall.Read(fd, b[:])
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

// TestStacksUnderSynctest: goroutines of a bubble are walked as any other.
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
	stop := make(chan struct{})
	var wg sync.WaitGroup
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
	close(stop)
	wg.Wait()
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
