package stackprof_test

import (
	"os"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/stackprof"
)

func writeFile(t *testing.T, file string, content []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, content, 0o600))
}

func at(fn string, line int, inlined ...string) *refscan.StackLocation {
	l := &refscan.StackLocation{Func: fn, File: "f.go", Line: line}
	for i, name := range inlined {
		l.Inlined = append(l.Inlined, refscan.InlinedCall{Func: name, File: "f.go", Line: 100 + i})
	}
	return l
}

func frame(l *refscan.StackLocation, size int64) refscan.StackFrame {
	return refscan.StackFrame{StackLocation: l, Size: size}
}

func goexit() refscan.StackFrame {
	return frame(at("runtime.goexit", 1), 8)
}

// TestPaths checks how stacks become samples, on stacks made by hand.
func TestPaths(t *testing.T) {
	leaf, inner, root := at("park", 7), at("middle", 20, "inlinedInner", "inlinedOuter"), at("main.worker", 30)
	shared := &refscan.StackTrace{Base: 32, Frames: []refscan.StackFrame{frame(leaf, 100), frame(inner, 200), frame(root, 400), goexit()}}
	used := uint64(100 + 200 + 400 + 8 + 32)
	system := &refscan.StackTrace{Base: 32, Frames: []refscan.StackFrame{frame(leaf, 100), frame(at("runtime.bgsweep", 3), 50), goexit()}}
	broken := &refscan.StackTrace{Frames: []refscan.StackFrame{frame(leaf, 100)}, Unknown: 300, Problem: "for a test"}
	running := &refscan.StackTrace{Unknown: 2048, Problem: "the goroutine was running"}
	wrapper, wraps := at("main.main.gowrap1", 5), at("main.main.gowrap2", 6, "main.small")
	wrapper.Wrapper, wraps.Wrapper = true, true
	wrapped := &refscan.StackTrace{Base: 32, Frames: []refscan.StackFrame{frame(leaf, 100), frame(root, 400), frame(wrapper, 24), goexit()}}
	absorbed := &refscan.StackTrace{Base: 32, Frames: []refscan.StackFrame{frame(leaf, 100), frame(wraps, 70), goexit()}}
	goroutine := func(trace *refscan.StackTrace, entry string, size, used uint64) *refscan.GoroutineStack {
		return &refscan.GoroutineStack{Lo: 1 << 20, Hi: 1<<20 + size, SP: 1<<20 + size - used, Trace: trace, Entry: entry}
	}
	bg := goroutine(system, "runtime.bgsweep", 2048, 100+50+40)
	bg.System = true
	s := &refscan.Stacks{
		Goroutines: []*refscan.GoroutineStack{
			goroutine(shared, "main.worker", 2048, used), goroutine(shared, "main.worker", 8192, used), bg,
			goroutine(wrapped, "main.main.gowrap1", 2048, 564), goroutine(absorbed, "main.main.gowrap2", 2048, 210),
			goroutine(broken, "main.other", 2048, 400), goroutine(running, "main.busy", 2048, 2048),
		},
		Others: []refscan.StackSum{
			{Kind: refscan.StackThread, Count: 2, Bytes: 32768},
			{Kind: refscan.StackPooled, Count: 1, Bytes: 2048},
			{Kind: refscan.StackKind("new kind"), Count: 1, Bytes: 64},
		},
		HeapBytes: 5000, Unattributed: 24, Warnings: []string{"careful"},
	}
	p := &stackprof.Profile{Stacks: s, Time: time.Unix(1, 0)}
	parsed := roundTrip(t, p)
	assert.Equal(t, map[string][3]int64{
		"main.worker":                    {1200, 1200, 0},
		"main.worker;runtime._FreeStack": {0, 2048 + 8192 - 2*int64(used) + 2048 - 564, 0},
		"main.worker;runtime._StackBase": {80 + 64, 80 + 64, 0},
		"main.worker;park":               {100, 100, 1},
		"main.small":                     {70, 70, 0},
		"main.small;park":                {100, 100, 1},
		"main.small;" + base:             {40, 40, 0},
		"main.small;" + free:             {0, 2048 - 210, 0},
		"main.worker;middle":             {400, 400, 0},
		"main.worker;middle;inlinedOuter;inlinedInner;park": {200, 200, 2},
		"runtime._SystemGoroutines;runtime.bgsweep":         {50, 50, 0},
		"runtime._SystemGoroutines;runtime.bgsweep;park":    {100, 100, 1},
		"runtime._SystemGoroutines;runtime.bgsweep;" + base: {40, 40, 0},
		"runtime._SystemGoroutines;runtime.bgsweep;" + free: {0, 2048 - 190, 0},
		"main.other;runtime._UnknownFrames":                 {300, 300, 0},
		"main.other;runtime._UnknownFrames;park":            {100, 100, 1},
		"main.other;runtime._FreeStack":                     {0, 1648, 0},
		"main.busy;runtime._UnknownFrames":                  {2048, 2048, 1},
		"runtime._ThreadStacks;runtime.g0":                  {32768, 32768, 0},
		"runtime._IdleStacks;runtime.stackpool":             {0, 2048, 0},
		"runtime._Unattributed;new kind":                    {0, 64, 0},
		"runtime._Unattributed":                             {0, 24, 0},
	}, values(parsed))
	assert.Equal(t, "stack_total", parsed.DefaultSampleType)
	assert.Equal(t, []string{"careful"}, parsed.Comments)
	assert.Equal(t, int64(1e9), parsed.TimeNanos)
}

const base, free = "runtime._StackBase", "runtime._FreeStack"

// TestFoldingIsExact compares flat and cumulative values of folded stacks with those of unfolded
// ones.
func TestFoldingIsExact(t *testing.T) {
	fns := []*refscan.StackLocation{at("a", 1), at("b", 2), at("c", 3, "in"), at("a", 4)}
	state := uint32(1)
	trace := &refscan.StackTrace{}
	flat, cum := make(map[string]int64), make(map[string]int64)
	var whole int64
	const frames = 1000
	for i := range frames {
		state = state*1664525 + 1013904223
		l := fns[state>>16%uint32(len(fns))]
		if i == frames-1 {
			l = at("main.root", 9)
		}
		size := int64(16 + state>>24)
		trace.Frames = append(trace.Frames, frame(l, size))
		flat[l.Func] += size
		whole += size
		// Innermost first: a function's cumulative value is all up to its outermost frame.
		cum[l.Func] = whole
		for _, in := range l.Inlined {
			flat[in.Func] += 0
			cum[in.Func] = whole - size
		}
	}
	trace.Frames = append(trace.Frames, goexit())
	g := &refscan.GoroutineStack{Lo: 1 << 20, Hi: 2 << 20, SP: 2<<20 - uint64(whole) - 8, Trace: trace, Entry: "main.root"}
	parsed := roundTrip(t, stackprof.New(&refscan.Stacks{Goroutines: []*refscan.GoroutineStack{g}}))
	assert.Less(t, len(parsed.Sample), 50)
	top := topOf(parsed)
	seen := 0
	for _, f := range top {
		if _, ok := flat[f.Name]; !ok {
			continue
		}
		seen++
		assert.Equal(t, flat[f.Name], f.Flat, f.Name)
		want := cum[f.Name]
		if f.Name == "main.root" {
			want = int64(g.Size())
		}
		assert.Equal(t, want, f.Cum, f.Name)
		assert.Equal(t, int64(1), f.Goroutines, f.Name)
	}
	assert.Equal(t, len(flat), seen)
	assert.Equal(t, g.Size(), sum(parsed)[total])
}
