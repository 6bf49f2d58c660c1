package gstate_test

import (
	"context"
	"iter"
	"reflect"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/gstate"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A gate is what the goroutines of a case wait at.
type gate struct {
	c, d chan int
	mu   sync.Mutex
	rw   sync.RWMutex
	wg   sync.WaitGroup
	cond *sync.Cond
}

func addressOf(pointer any) uint64 { return uint64(reflect.ValueOf(pointer).Pointer()) }

// waits are the ways of a goroutine to wait, with the reason that tracebacks give, and what wakes
// it.
var waits = []struct {
	reason  string
	wait    func(g *gate)
	wakers  func(g *gate) []any
	running bool // it may go on without an action of the program
}{
	{"chan receive", func(g *gate) { <-g.c }, func(g *gate) []any { return []any{g.c} }, false},
	{"chan send", func(g *gate) { g.d <- 1 }, func(g *gate) []any { return []any{g.d} }, false},
	{"select", func(g *gate) {
		select {
		case <-g.c:
		case g.d <- 1:
		}
	}, func(g *gate) []any { return []any{g.c, g.d} }, false},
	{"sync.Mutex.Lock", func(g *gate) { g.mu.Lock() }, func(g *gate) []any { return []any{&g.mu} }, false},
	{"sync.RWMutex.RLock", func(g *gate) { g.rw.RLock() }, func(g *gate) []any { return []any{&g.rw} }, false},
	{"sync.WaitGroup.Wait", func(g *gate) { g.wg.Wait() }, func(g *gate) []any { return []any{&g.wg} }, false},
	{"sync.Cond.Wait", func(g *gate) { g.cond.L.Lock(); g.cond.Wait(); g.cond.L.Unlock() }, func(g *gate) []any { return []any{g.cond} }, false},
	{"sleep", func(*gate) { time.Sleep(time.Hour) }, nil, true},
}

func newGate() *gate {
	g := &gate{c: make(chan int), d: make(chan int)}
	g.cond = sync.NewCond(new(sync.Mutex))
	g.mu.Lock()
	g.rw.Lock()
	g.wg.Add(1)
	return g
}

// open lets the goroutines at a gate end.
func (g *gate) open() {
	close(g.c)
	select {
	case <-g.d:
	default:
	}
	g.mu.Unlock()
	g.rw.Unlock()
	g.wg.Done()
	g.cond.L.Lock()
	g.cond.Broadcast()
	g.cond.L.Unlock()
}

// labelled returns the goroutines whose label "case" has a value.
func labelled(t *testing.T, m *goruntime.Model, states *gstate.States) map[string]*goruntime.Goroutine {
	t.Helper()
	var addrs []uint64
	for _, g := range m.Goroutines {
		addrs = append(addrs, states.Of(g).Labels)
	}
	sets, all := gstate.LabelSets(m, addrs), make(map[string]*goruntime.Goroutine)
	for i, g := range m.Goroutines {
		if set := sets[addrs[i]]; len(set) == 2 && set[0].Key == "case" {
			assert.Equal(t, gstate.Label{Key: "other", Value: "of " + set[0].Value}, set[1])
			all[set[0].Value] = g
		}
	}
	return all
}

// The state of a goroutine that waits, its labels, and what it waits for are what the test made
// them.
func TestStates(t *testing.T) {
	gates, begun := make([]*gate, len(waits)), make(chan bool)
	for i, c := range waits {
		g := newGate()
		gates[i] = g
		defer g.open()
		go pprof.Do(context.Background(), pprof.Labels("case", c.reason, "other", "of "+c.reason), func(context.Context) {
			runtime.LockOSThread()
			begun <- true
			c.wait(g)
		})
		<-begun
	}
	m := heaptest.Freeze(t, true).Model()
	states, err := gstate.NewStates(m)
	require.NoError(t, err)
	blocks, err := gstate.NewBlocks(m)
	require.NoError(t, err)
	var own gstate.State
	for _, g := range m.Goroutines {
		if g.IsCaller {
			own = states.Of(g)
			_, ok := blocks.Of(g)
			assert.False(t, ok, "it runs")
		}
	}
	assert.Equal(t, "running", own.Status)
	found := labelled(t, m, states)
	for i, c := range waits {
		g := found[c.reason]
		require.NotNil(t, g, c.reason)
		state := states.Of(g)
		assert.Equal(t, gstate.State{ID: state.ID, Parent: own.ID, Status: "waiting", WaitReason: c.reason, Labels: state.Labels, Locked: true}, state)
		block, ok := blocks.Of(g)
		assert.Equal(t, !c.running, ok, c.reason)
		if c.running {
			continue
		}
		want := c.wakers(gates[i])
		require.Len(t, block.Wakers, len(want), c.reason)
		require.Len(t, block.Records, len(want)+1, c.reason)
		assert.Equal(t, g.Addr, block.Records[0].Addr)
		for _, waker := range want {
			lo, in := addressOf(waker), false
			for _, addr := range block.Wakers {
				in = in || lo <= addr && addr < lo+uint64(sizeOf(waker))
			}
			assert.True(t, in, "%s: %x leads to none of %x", c.reason, block.Wakers, lo)
		}
	}
	runtime.KeepAlive(gates)
}

// sizeOf is the size of what a pointer leads to; a channel is known by its first byte.
func sizeOf(pointer any) uintptr {
	if v := reflect.TypeOf(pointer); v.Kind() == reflect.Pointer {
		return v.Elem().Size()
	}
	return 1
}

// A coroutine waits for the functions of iter.Pull, whether or not it has begun.
func TestCoroutines(t *testing.T) {
	numbers := iter.Seq[int](func(yield func(int) bool) {
		for i := 0; yield(i); i++ {
		}
	})
	next, stop := iter.Pull(numbers)
	defer stop()
	next()
	other, stopOther := iter.Pull(numbers)
	defer stopOther()
	m := heaptest.Freeze(t, true).Model()
	blocks, err := gstate.NewBlocks(m)
	require.NoError(t, err)
	states, err := gstate.NewStates(m)
	require.NoError(t, err)
	waiting := 0
	for _, g := range m.Goroutines {
		if states.Of(g).WaitReason != "coroutine" {
			continue
		}
		waiting++
		block, ok := blocks.Of(g)
		require.True(t, ok)
		require.Len(t, block.Wakers, 1)
		s, obj := m.Object(block.Wakers[0])
		require.NotNil(t, s)
		assert.Equal(t, block.Wakers[0], s.Addr(obj))
	}
	assert.Equal(t, 2, waiting)
	runtime.KeepAlive(next)
	runtime.KeepAlive(other)
}

// The account of stacks is that of package metrics.
func TestStackMemoryOfThisProcess(t *testing.T) {
	m := heaptest.Freeze(t, true).Model()
	samples := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/os-stacks:bytes"}}
	metrics.Read(samples)
	got, err := gstate.ReadStackMemory(m)
	require.NoError(t, err)
	// The process goes on beside the frozen one, and may give stacks back.
	assert.InDelta(t, samples[0].Value.Uint64(), uint64(got.HeapBytes), 1<<20)
	assert.InDelta(t, samples[1].Value.Uint64(), uint64(got.OSBytes), 1<<20)
	used := int64(0)
	for _, g := range m.Goroutines {
		used += int64(g.Hi - g.Lo)
	}
	// All stacks of the heap are in use, kept by goroutines that ended, or free.
	all := used + got.Ended.Bytes + got.Cache.Bytes + got.Pool.Bytes + got.Large.Bytes + got.GSignal.Bytes + got.G0.Bytes + got.Crash.Bytes
	t.Logf("%+v, used %d, all %d", got, used, all)
	assert.InDelta(t, got.HeapBytes, all, float64(got.HeapBytes)/10)
	assert.Positive(t, got.GSignal.Count)
}
