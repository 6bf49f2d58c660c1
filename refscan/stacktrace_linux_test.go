package refscan_test

import (
	"bufio"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

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
func nilPointer(park func()) {
	defer func() { _ = recover() }()
	defer park()
	storeTwo(new(int), nil)
}

// storeTwo faults at an instruction whose predecessor belongs to another line.
//
//go:noinline
func storeTwo(p, q *int) {
	*p = 1
	*q = 2
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
	tracePlace   = regexp.MustCompile(`^\t(.*:\d+)(?: \+0x[0-9a-f]+)?$`)
)

type traceback struct {
	state     string
	calls     []string // "function file:line"
	created   string
	createdAt string
	creator   uint64
}

// tracebacks parses the runtime's own tracebacks of all goroutines.
func tracebacks() map[uint64]*traceback {
	text := make([]byte, 1<<22)
	text = text[:runtime.Stack(text, true)]
	out := make(map[uint64]*traceback)
	var at *traceback
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "goroutine ") {
			at = &traceback{} // also if the rest of the line is of a form that is not known here
		}
		if m := traceHeader.FindStringSubmatch(line); m != nil {
			id, _ := strconv.ParseUint(m[1], 10, 64)
			at = &traceback{state: m[2]}
			out[id] = at
		} else if m := traceCreated.FindStringSubmatch(line); m != nil {
			at.created = m[1]
			at.creator, _ = strconv.ParseUint(m[2], 10, 64)
		} else if m := tracePlace.FindStringSubmatch(line); m != nil {
			if at.created != "" {
				at.createdAt = m[1]
			} else if len(at.calls) > 0 {
				at.calls[len(at.calls)-1] += " " + m[1]
			}
		} else if m := traceCall.FindStringSubmatch(line); m != nil {
			at.calls = append(at.calls, strings.TrimSuffix(m[1], "(...)"))
		}
	}
	return out
}

// TestTraces compares what is read out of the frozen process with the runtime's own tracebacks.
func TestTraces(t *testing.T) {
	before := tracebacks() // goroutines of other tests
	for _, f := range []func(func()){parkDirectly, callsInlined, panics, nilPointer, openCoded, locked} {
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
	// let them block; if they have not, the comparison just sees less
	time.Sleep(20 * time.Millisecond)

	s := captureStacks(t)
	want := tracebacks()
	compared := 0
	for _, g := range s.Goroutines {
		if g.Self || g.System || before[g.ID] != nil || strings.Contains(g.Entry+" "+g.CreatedBy, ".TestLeaked") {
			// tests of leaked goroutines leave some, which may come and go, and whose state the
			// runtime may show as leaked
			continue
		}
		w := want[g.ID]
		if w == nil {
			continue // another test's, which has ended meanwhile
		}
		compared++
		assert.Equal(t, strings.Join(visible(w.calls), "\n"), strings.Join(visible(places(g)), "\n"), g.Entry)
		state := g.State
		if g.WaitReason != "" {
			state = g.WaitReason
		}
		assert.Equal(t, w.state, state, g.Entry)
		if w.created != "" {
			assert.Equal(t, w.created, g.CreatedBy)
			assert.Equal(t, w.createdAt, fmt.Sprint(g.CreatedFile, ":", g.CreatedLine))
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

// places returns the stack as tracebacks show it.
func places(g *refscan.GoroutineStack) []string {
	var out []string
	for _, f := range g.Trace.Frames {
		for _, in := range f.Inlined {
			out = append(out, fmt.Sprint(in.Func, " ", in.File, ":", in.Line))
		}
		out = append(out, fmt.Sprint(f.Func, " ", f.File, ":", f.Line))
	}
	return out
}

// visible leaves out what the runtime's tracebacks leave out: its own functions and wrappers.
func visible(names []string) []string {
	var out []string
	for _, n := range names {
		if strings.HasPrefix(n, "runtime.") || strings.HasPrefix(n, "panic ") || strings.Contains(n, ".gowrap") || strings.Contains(n, ".deferwrap") {
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
