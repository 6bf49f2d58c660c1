//go:build cgo && linux && (amd64 || arm64)

package native

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/native/nativecalls"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
)

// preloaded is set in processes with the library of leakgate run -native.
var preloaded = flag.Bool("preloaded", false, "for processes that tests start")

const librarySource = "../../../cmd/leakgate/internal/native/callrecord/source/shim.c"

// underLibrary runs a test in a process with the library, and reports whether this is that process.
func underLibrary(t *testing.T) bool {
	t.Helper()
	if *preloaded {
		return true
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no gcc")
	}
	library := filepath.Join(t.TempDir(), "libleakgate-native-test.so")
	out, err := exec.Command("gcc", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-builtin", "-Wall", "-Wextra", "-Werror", "-o", library, librarySource, "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-preloaded")
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+library)
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	t.Logf("%s", out)
	return false
}

// start starts recording.
func start(t *testing.T) *nativecalls.Recorder {
	t.Helper()
	r := find(t)
	index, err := snapshot.OpenIndex(context.Background(), t.Logf)
	require.NoError(t, err)
	bias, err := snapshot.LoadBias(index)
	require.NoError(t, err)
	withoutGo, err := r.Start(index, bias)
	require.NoError(t, err)
	require.NoError(t, withoutGo)
	return r
}

// find finds the library in this process.
func find(t *testing.T) *nativecalls.Recorder {
	t.Helper()
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = memory.Close() })
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	r, err := nativecalls.Find(maps, memory)
	require.NoError(t, err)
	return r
}

// names returns the names of the Go functions on a stack, as the runtime has them.
func names(pcs []uint64) (all []string) {
	for _, pc := range pcs {
		f, _ := runtime.CallersFrames([]uintptr{uintptr(pc)}).Next()
		all = append(all, f.Function)
	}
	return all
}

// TestCallsOfFamily checks that the blocks that each function of malloc's family leaves are
// recorded, and nothing else.
func TestCallsOfFamily(t *testing.T) {
	if !underLibrary(t) {
		return
	}
	const n = 16 * page
	for which := range families {
		r := start(t)
		ok := family(which, n)
		r.Stop()
		require.True(t, ok, which)
		pieces, bytes, by := leaves(which, n)
		found, blocks, size := "", 0, 0
		for _, s := range r.Stacks() {
			found += s.Function
			blocks += int(s.Blocks)
			size += int(s.Bytes)
			require.NotEmpty(t, s.C, which)
		}
		require.Equal(t, by, found, which)
		require.Equal(t, pieces, blocks, which)
		require.Equal(t, bytes, size, which)
		require.Zero(t, r.Lost())
	}
}

//go:noinline
func callsOuter(n int) (callers []uintptr) {
	outer(n)
	callers = make([]uintptr, 100)
	return callers[:runtime.Callers(1, callers)]
}

// TestCallsOfGo compares the Go code on a stack with the result of runtime.Callers.
func TestCallsOfGo(t *testing.T) {
	if !underLibrary(t) {
		return
	}
	r := start(t)
	var want []uintptr
	done := make(chan bool)
	go func() { // with a stack that has grown
		var deep func(i int)
		deep = func(i int) {
			if i > 0 {
				deep(i - 1)
				return
			}
			want = callsOuter(777)
		}
		deep(10)
		close(done)
	}()
	<-done
	r.Stop()
	all := r.Stacks()
	// A thread that the runtime starts meanwhile has blocks of its own.
	all = slices.DeleteFunc(all, func(s nativecalls.Stack) bool { return s.Bytes != 777 })
	require.Len(t, all, 1)
	require.GreaterOrEqual(t, len(all[0].C), 2)
	var callers []string
	frames := runtime.CallersFrames(want)
	for {
		f, more := frames.Next()
		callers = append(callers, f.Function)
		if !more {
			break
		}
	}
	got := names(all[0].Go)
	at := slices.Index(got, "github.com/leakgate/leakgate/internal/tests/native.callsOuter")
	require.GreaterOrEqual(t, at, 0, "%v", got)
	require.Equal(t, callers, got[at:])
}

// TestCallsThroughGo requires the inner Go code on the stacks of calls that it makes, and no Go
// code on the stack of a C thread that runs no Go code.
func TestCallsThroughGo(t *testing.T) {
	if !underLibrary(t) {
		return
	}
	for name, op := range map[string]func(int){"callback": throughGo, "thread": onThread} {
		r := start(t)
		op(777)
		r.Stop()
		with, without := 0, 0
		for _, s := range r.Stacks() {
			switch {
			case s.Bytes != 777*s.Blocks: // of threads themselves
			case strings.Contains(strings.Join(names(s.Go), " "), "native.goCallback"):
				with += int(s.Blocks)
			default:
				require.Empty(t, names(s.Go), name)
				without += int(s.Blocks)
			}
		}
		require.Equal(t, 1, with, name)
		if name == "thread" {
			require.Equal(t, 2, without)
		}
	}
}

// TestCallsOfRandom compares the number of blocks that random workloads of several threads leave
// with the number on glibc's heap.
func TestCallsOfRandom(t *testing.T) {
	if !underLibrary(t) {
		return
	}
	startThreads(99, maxThreads, 10) // blocks that are allocated once
	endThreads(maxThreads)
	for i := range 20 {
		before, err := nativeheap.Take()
		require.NoError(t, err)
		r := start(t)
		threads := 1 + i%maxThreads
		startThreads(uint64(i+1), threads, 50+i*331%3000)
		r.Stop()
		after, err := nativeheap.Take()
		require.NoError(t, err)
		blocks := int64(0)
		for _, s := range r.Stacks() {
			blocks += s.Blocks
		}
		endThreads(threads)
		require.Zero(t, r.Lost())
		// The heap's count does not include the loader's blocks for threads.
		require.InDelta(t, after.Blocks-before.Blocks, blocks, float64(2*threads), "workload %d", i)
	}
}

// TestCallsLost checks the count of blocks for which there was no room.
func TestCallsLost(t *testing.T) {
	if !underLibrary(t) {
		return
	}
	r := start(t)
	const n = 1_200_000
	keep(n)
	r.Stop()
	blocks := int64(0)
	for _, s := range r.Stacks() {
		blocks += s.Blocks
	}
	require.Positive(t, r.Lost())
	require.EqualValues(t, n, blocks+r.Lost())
	require.EqualValues(t, n, r.Calls())
}

// TestCallsHidden checks that processes started by the test have nothing of the library, and all
// other entries of the environment.
func TestCallsHidden(t *testing.T) {
	if !underLibrary(t) {
		return
	}
	require.Empty(t, os.Getenv("LD_PRELOAD"))
	require.NotEmpty(t, os.Getenv("PATH"))
	out, err := exec.Command("sh", "-c", "echo $PATH; cat /proc/self/maps").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), os.Getenv("PATH")+"\n")
	require.NotContains(t, string(out), "leakgate-native")
	require.Positive(t, os.Getpagesize()) // Go reads it from the words after the environment
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	require.Contains(t, string(text), "leakgate-native")
}

// TestCallsNowhere checks the error if there is no library.
func TestCallsNowhere(t *testing.T) {
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	_, err = nativecalls.Find(maps, nil)
	require.ErrorContains(t, err, "not in this process")
}

// TestCallsCost logs what a pair of malloc and free costs.
func TestCallsCost(t *testing.T) {
	const n = 2_000_000
	cost := func(what string) {
		best := time.Duration(1 << 62)
		for range 5 {
			at := time.Now()
			many(n / 10)
			best = min(best, time.Since(at))
		}
		t.Logf("%s: %.1f ns", what, float64(best)/(n/10))
	}
	if !*preloaded {
		cost("without")
	}
	if !underLibrary(t) {
		return
	}
	cost("off")
	r := start(t)
	cost("on")
	r.Stop()
	require.GreaterOrEqual(t, r.Calls(), int64(n/2))
}
