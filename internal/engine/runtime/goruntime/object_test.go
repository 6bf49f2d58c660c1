package goruntime_test

import (
	"maps"
	"reflect"
	"runtime"
	"testing"
	"weak"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// heldObjects keeps the objects that the tests look for.
var heldObjects []any

func held[T any]() *T {
	p := new(T)
	heldObjects = append(heldObjects, p)
	return p
}

// The words of an object that may be pointers are those of its type, wherever the allocator keeps
// that: in bits, at the object, or in the span.
func TestPointerWords(t *testing.T) {
	defer func() { heldObjects = nil }()
	objects := []any{
		held[*int](), held[named](), held[[3]named](), held[[9]named](), held[[100]named](), held[manyPointers](), held[[10]manyPointers](),
		held[[7]int](), held[[70000]int](), held[[64]*int](), held[[65]*int](),
	}
	m := heaptest.Freeze(t, false).Model()
	recorded := 0
	for _, o := range objects {
		v := reflect.ValueOf(o)
		typ, addr := v.Type().Elem(), uint64(v.Pointer())
		s, obj := m.Object(addr)
		require.NotNil(t, s, typ.String())
		assert.GreaterOrEqual(t, s.ElemSize, uint64(typ.Size()), typ.String())
		start := addr - s.Addr(obj)
		assert.Equal(t, s, m.SpanOf(obj))
		allocated, at := m.AllocatedType(s, obj)
		words := make(map[uint64]bool)
		pointersOf(typ, uintptr(start), words)
		for room := start + uint64(typ.Size()); allocated != nil && room < s.ElemSize; room += uint64(typ.Size()) {
			pointersOf(typ, uintptr(room), words) // as if the block were an array
		}
		maps.DeleteFunc(words, func(word uint64, _ bool) bool { return word >= s.ElemSize/8 })
		assert.Equal(t, len(words) == 0, s.NoScan, typ.String())
		got := make(map[uint64]bool)
		require.NoError(t, m.PointerWords(s, obj, func(word uint64) { got[word] = true }))
		assert.True(t, maps.Equal(words, got), typ.String())
		if allocated != nil {
			assert.Equal(t, start, at)
			assert.Equal(t, typ.String(), m.TypeString(allocated))
			recorded++
		}
		assert.Equal(t, s.NoScan, s.Bytes(obj) == nil)
	}
	assert.Equal(t, 6, recorded, "pointer words of more than 512 bytes")
}

// Finalizers, cleanups and weak pointers hang on their objects.
func TestSpecials(t *testing.T) {
	defer func() { heldObjects = nil }()
	finalized, cleaned, weakly := held[[5]*int](), held[[6]*int](), held[[7]*int]()
	finalizer := func(*[5]*int) {}
	runtime.SetFinalizer(finalized, finalizer)
	argument := held[int]()
	runtime.AddCleanup(cleaned, func(*int) {}, argument)
	pointer := weak.Make(weakly)
	m := heaptest.Freeze(t, true).Model()
	found := make(map[uint64][]goruntime.Special)
	require.NoError(t, goruntime.EachSpecial(m, func(s goruntime.Special) {
		if s.Obj != goruntime.NoObject {
			addr := s.Span.Addr(s.Obj)
			found[addr] = append(found[addr], s)
		}
	}))
	of := func(o any) goruntime.Special {
		list := found[uint64(reflect.ValueOf(o).Pointer())]
		require.Len(t, list, 1, "%T", o)
		return list[0]
	}
	f := of(finalized)
	assert.Equal(t, goruntime.Finalizer, f.Kind)
	assert.Equal(t, reflect.TypeOf(finalized).String(), m.TypeString(m.Type(f.ObjectType)))
	assert.Contains(t, m.FuncAt(m.Mem.U64(f.Fn)).Name, pkg+"TestSpecials")
	assert.Equal(t, goruntime.Cleanup, of(cleaned).Kind)
	w := of(weakly)
	assert.Equal(t, goruntime.WeakHandle, w.Kind)
	assert.EqualValues(t, reflect.ValueOf(weakly).Pointer(), m.Mem.U64(w.Handle))
	runtime.KeepAlive(pointer)
	runtime.KeepAlive(argument)
}

// parked waits with a pointer that it uses again, one that it has used, a variable whose address is
// taken, and a deferred call.
//
//go:noinline
func parked(used, done *[100]int, object *[101]int, deferred *[102]int, ready, end chan bool) {
	taken := object
	cell := &taken
	for range 1 { // in a loop: its record is on the heap
		defer func() { runtime.KeepAlive(deferred) }()
	}
	touch(done)
	ready <- true
	<-end
	touch(used)
	touchCell(cell)
}

//go:noinline
func touch(p *[100]int) { p[0]++ }

//go:noinline
func touchCell(p **[101]int) { *p = nil }

// A goroutine's stack leads to what the goroutine uses again, and to deferred calls.
func TestLiveSlotsOfThisProgram(t *testing.T) {
	ready, end, addrs := make(chan bool), make(chan bool), make(chan [4]uint64, 1)
	defer close(end)
	go func() {
		used, done, object, deferred := new([100]int), new([100]int), new([101]int), new([102]int)
		address := func(o any) uint64 { return uint64(reflect.ValueOf(o).Pointer()) }
		addrs <- [4]uint64{address(used), address(done), address(object), address(deferred)}
		parked(used, done, object, deferred, ready, end)
	}()
	at := <-addrs
	<-ready
	m := heaptest.Freeze(t, true).Model()
	for _, g := range m.Goroutines {
		if f := m.Entry(g); f == nil || f.Name != pkg+"TestLiveSlotsOfThisProgram.func1" {
			continue
		}
		frames := make(map[uint64]string)
		calls, records := 0, 0
		require.NoError(t, m.LiveSlots(g, func(s goruntime.Slot) {
			assert.False(t, s.Conservative)
			switch {
			case s.Record:
				records++
				return
			case s.Deferred:
				calls++
				assert.Equal(t, pkg+"parked", s.Frame.Func.Name)
				assert.Equal(t, at[3], m.Mem.U64(s.Value+8), "what the closure has captured")
			case s.Frame != nil:
				frames[s.Value] = s.Frame.Func.Name
			}
			assert.Equal(t, m.Mem.U64(s.Addr), s.Value)
		}))
		assert.Equal(t, pkg+"parked", frames[at[0]])
		assert.Empty(t, frames[at[1]], "it is not used again")
		assert.Equal(t, pkg+"parked", frames[at[2]])
		assert.Equal(t, []int{1, 1}, []int{calls, records})
		return
	}
	require.Fail(t, "the goroutine is gone")
}
