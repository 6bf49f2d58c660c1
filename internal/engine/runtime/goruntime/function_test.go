package goruntime_test

import (
	"reflect"
	"regexp"
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const pkg = "github.com/leakgate/leakgate/internal/engine/runtime/goruntime_test."

// nowhere is the address of no memory.
const nowhere = 0xdead_beef_0000

// callsOf returns the calls on the stack of a goroutine, the innermost first.
func callsOf(m *goruntime.Model, g *goruntime.Goroutine) (calls []goruntime.Call, err error) {
	var callee *goruntime.Func
	err = m.Frames(g, func(f *goruntime.Frame) error {
		calls = append(calls, m.Calls(f.Func, f.CallPC(callee))...)
		callee = f.Func
		return nil
	})
	return calls, err
}

// typeArguments are left out of names by package runtime.
var typeArguments = regexp.MustCompile(`\[.*\]`)

// Package runtime judges the functions and lines of a sample of all code addresses, inlined
// functions included.
func TestFunctionsOfThisProgram(t *testing.T) {
	heaptest.Long(t)
	m := heaptest.Freeze(t, false).Model()
	compared, inlined := 0, 0
	code := m.Modules[0].Code()
	for pc := code.Addr; pc < code.End(); pc += 997 {
		want := runtime.FuncForPC(uintptr(pc))
		f := m.FuncAt(pc)
		if want == nil || f == nil {
			assert.True(t, want == nil && f == nil, "a function at %#x", pc)
			continue
		}
		calls := m.Calls(f, pc)
		file, line := want.FileLine(uintptr(pc))
		if len(calls) > 1 {
			// FileLine gives the place in the innermost function only for its own addresses, and
			// CallersFrames takes the address before the one that it is given, but not before a
			// function's first one.
			if next := m.FuncAt(pc + 1); next != f {
				continue
			}
			frame, _ := runtime.CallersFrames([]uintptr{uintptr(pc) + 1}).Next()
			file, line = frame.File, frame.Line
			inlined++
		}
		if file == "?" || want.Name() == "" { // no line belongs to it, or it is the first function
			continue
		}
		require.Equal(t, symbol.Unescape(want.Name()), symbol.Unescape(typeArguments.ReplaceAllString(calls[0].Name, "[...]")), "at %#x", pc)
		require.Equal(t, goruntime.Call{Name: calls[0].Name, File: file, Line: line, StartLine: calls[0].StartLine}, calls[0])
		require.Equal(t, f.Name, calls[len(calls)-1].Name, "the function itself is the last")
		compared++
	}
	t.Logf("%d addresses, %d of them in inlined functions", compared, inlined)
	require.Greater(t, compared, 1000)
	require.Greater(t, inlined, 100)
}

// hold ends a chain of calls, some of them inlined, and waits.
//
//go:noinline
func hold(ready chan<- []uintptr, end <-chan bool) {
	pcs := make([]uintptr, 20)
	ready <- pcs[:runtime.Callers(1, pcs)]
	<-end
}

func viaInlined(ready chan<- []uintptr, end <-chan bool) { hold(ready, end) }

func viaGeneric[T any](ready chan<- []uintptr, end <-chan bool) { viaInlined(ready, end) }

//go:noinline
func viaFrame(ready chan<- []uintptr, end <-chan bool) (n int) {
	viaGeneric[int](ready, end)
	return len(end) // no tail call
}

// Package runtime judges the calls on the stack of a goroutine that waits, and which statement made
// the goroutine.
func TestCallsOfThisProgram(t *testing.T) {
	ready, end := make(chan []uintptr), make(chan bool)
	defer close(end)
	_, _, made, _ := runtime.Caller(0)
	go func() { viaFrame(ready, end) }()
	pcs := <-ready
	var want []goruntime.Call
	for frames := runtime.CallersFrames(pcs); ; {
		frame, more := frames.Next()
		want = append(want, goruntime.Call{Name: frame.Function, File: frame.File, Line: frame.Line})
		if !more {
			break
		}
	}
	require.Len(t, want, 6, "five calls and runtime.goexit")
	m := heaptest.Freeze(t, true).Model()
	found := false
	for _, g := range m.Goroutines {
		if f := m.Entry(g); f == nil || f.Name != pkg+"TestCallsOfThisProgram.func1" {
			continue
		}
		found = true
		calls, err := callsOf(m, g)
		require.NoError(t, err)
		for len(calls) > 0 && symbol.IsRuntime(symbol.Package(calls[0].Name)) {
			calls = calls[1:]
		}
		for i := range calls {
			calls[i].Name, calls[i].StartLine = typeArguments.ReplaceAllString(calls[i].Name, "[...]"), 0
		}
		want[0].Line++ // it waits in the line after
		assert.Equal(t, want, calls)
		creator, file, line := m.Creator(g)
		assert.Equal(t, pkg+"TestCallsOfThisProgram", creator.Name)
		assert.Equal(t, want[0].File, file)
		assert.Equal(t, made+1, line)
		waits := m.Waits(g)
		require.Len(t, waits, 1)
		assert.EqualValues(t, reflect.ValueOf(end).Pointer(), waits[0].Channel)
		assert.Equal(t, "bool", m.TypeString(m.Type(waits[0].Type)))
	}
	assert.True(t, found)
}

// sample keeps the object whose allocation is recorded.
var sample *[3]int

func allocate() { sample = new([3]int) }

// The record of an allocation leads to its object, and names the calls that made it.
func TestAllocationRecords(t *testing.T) {
	before := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	allocate()
	runtime.MemProfileRate = before
	runtime.GC() // a record of the profiler
	m := heaptest.Freeze(t, false).Model()
	_, object := m.Object(uint64(reflect.ValueOf(sample).Pointer()))
	var calls []goruntime.Call
	require.NoError(t, goruntime.AllocationRecords(m, func(obj uint32, bucket uint64) {
		if obj == object {
			stack, err := goruntime.AllocationStack(m, bucket)
			require.NoError(t, err)
			calls = m.StackCalls(stack)
		}
	}))
	require.Greater(t, len(calls), 2)
	assert.Equal(t, pkg+"allocate", calls[0].Name)
	assert.Equal(t, pkg+"TestAllocationRecords", calls[1].Name)
	assert.Equal(t, "testing.tRunner", calls[2].Name)
	assert.Len(t, calls, 3, "each call once, without runtime.goexit")
}
