package typing_test

//lint:file-ignore U1000 the collector and reflection look at fields

import (
	"context"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const pkg = "github.com/leakgate/leakgate/internal/engine/heap/typing_test."

func tableOf(t *testing.T, p *heaptest.Process) *heaptype.Table {
	t.Helper()
	types, err := heaptype.NewTable(p.Model(), p.Index(), false)
	require.NoError(t, err)
	return types
}

func addressOf(pointer any) uint64 { return uint64(reflect.ValueOf(pointer).Pointer()) }

// The memory of an object tells that a file is closed, a context done, a timer stopped or a channel
// closed, and of no other.
func TestEndings(t *testing.T) {
	file := func(closed bool) any {
		f, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		if closed {
			require.NoError(t, f.Close())
		}
		return *(*unsafe.Pointer)(unsafe.Pointer(f)) // an os.File has but a pointer to an os.file
	}
	ctx := func(done bool) any {
		c, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		if done {
			cancel()
		}
		return c
	}
	timer := func(stopped bool) any {
		c := time.NewTimer(time.Hour)
		t.Cleanup(func() { c.Stop() })
		if stopped {
			c.Stop()
		}
		return c
	}
	channel := func(closed bool) any {
		c := make(chan *int, 1)
		if closed {
			close(c)
		}
		return c
	}
	var objects [2][4]any
	for i, over := range []bool{false, true} {
		objects[i] = [4]any{file(over), ctx(over), timer(over), channel(over)}
	}
	p := heaptest.Capture(t)
	types := tableOf(t, p)
	endings := typing.NewEndings(types)
	for i, c := range []struct {
		name, state string
		layout      heaptype.Layout
	}{
		{"os.file", "closed", heaptype.LayoutValue},
		{"context.cancelCtx", "done", heaptype.LayoutValue},
		{"time.Timer", "stopped or expired", heaptype.LayoutBoxed},
		{"chan *int", "closed", heaptype.LayoutChan},
	} {
		typ := types.Named(c.name)
		require.NotNil(t, typ, c.name)
		ty := typing.Typing{Type: typ.Index, Layout: c.layout}
		assert.True(t, endings.Ends(ty), c.name)
		for over, list := range objects {
			_, obj := p.Model().Object(addressOf(list[i]))
			state, is := endings.Of(obj, ty, true)
			assert.Equal(t, over == 1, is, c.name)
			assert.Equal(t, c.state, state, c.name)
		}
		inside := ty
		inside.Offset = 8
		assert.Equal(t, c.layout == heaptype.LayoutChan, endings.Ends(inside), c.name)
	}
	none := typing.Typing{Type: types.Named("time.Location").Index, Layout: heaptype.LayoutValue}
	assert.False(t, endings.Ends(none))
	_, over := endings.Of(0, none, true)
	assert.False(t, over)
	runtime.KeepAlive(objects)
}

// randomTyping returns a typing of an object of 512 bytes.
func randomTyping(rng *rand.Rand, types *heaptype.Table, known []int32) typing.Typing {
	return typing.Typing{
		Type: known[rng.IntN(len(known))], Offset: 8 * rng.Uint32N(3), Layout: heaptype.LayoutValue + heaptype.Layout(rng.IntN(3)),
		Grounds: typing.Grounds{Confidence: heaptype.FromInterior + heaptype.Confidence(rng.IntN(5)), Full: rng.IntN(2) == 0},
	}
}

// Which of two typings is better is a strict order: of any three different ones, one is the best.
func TestBetterIsAnOrder(t *testing.T) {
	p := heaptest.Capture(t)
	types := tableOf(t, p)
	var known []int32
	for _, name := range []string{"int", "*int", "string", "time.Timer", "os.file", "context.cancelCtx", "time.Location", pkg + "twoWords"} {
		typ := types.Named(name)
		require.NotNil(t, typ, name)
		known = append(known, typ.Index)
	}
	rng := rand.New(rand.NewPCG(4, 5))
	better := func(a, b typing.Typing) bool { return typing.Better(types, a, b, 512) }
	for range 20_000 {
		a, b, c := randomTyping(rng, types, known), randomTyping(rng, types, known), randomTyping(rng, types, known)
		require.False(t, better(a, a), "%+v", a)
		require.Equal(t, a != b, better(a, b) != better(b, a), "%+v, %+v", a, b)
		if better(a, b) && better(b, c) {
			require.True(t, better(a, c), "%+v, %+v, %+v", a, b, c)
		}
	}
}

type twoWords struct{ a, b *int }

// Each ground outranks the next one.
func TestBetter(t *testing.T) {
	p := heaptest.Capture(t)
	types := tableOf(t, p)
	two, one := types.Named(pkg+"twoWords").Index, types.Named("*int").Index
	of := func(typ int32, layout heaptype.Layout, confidence heaptype.Confidence, full bool, offset uint32) typing.Typing {
		return typing.Typing{Type: typ, Layout: layout, Offset: offset, Grounds: typing.Grounds{Confidence: confidence, Full: full}}
	}
	ranks := []typing.Typing{ // of an object of 64 bytes
		of(one, heaptype.LayoutValue, heaptype.FromOwner, false, 8),
		of(one, heaptype.LayoutValue, heaptype.FromAllocator, true, 8),
		of(one, heaptype.LayoutValue, heaptype.FromInterior, true, 8),
		of(one, heaptype.LayoutValue, heaptype.FromDynamic, false, 8),
		of(two, heaptype.LayoutArray, heaptype.FromStatic, false, 0),
		of(one, heaptype.LayoutArray, heaptype.FromStatic, false, 8),
		of(two, heaptype.LayoutValue, heaptype.FromStatic, false, 8),
		of(one, heaptype.LayoutValue, heaptype.FromStatic, false, 0),
		of(one, heaptype.LayoutValue, heaptype.FromStatic, false, 8),
		{},
	}
	for i, a := range ranks {
		for _, b := range ranks[i+1:] {
			assert.True(t, typing.Better(types, a, b, 64), "%+v, %+v", a, b)
			assert.False(t, b.Type != 0 && typing.Better(types, b, a, 64), "%+v, %+v", b, a)
			assert.True(t, typing.Improves(types, a, b, 64))
		}
		part := of(0, heaptype.LayoutInternal, 0, false, 0)
		assert.True(t, typing.Improves(types, part, a, 64), "a part of a map or channel is nothing else")
		assert.False(t, typing.Improves(types, a, part, 64))
		assert.False(t, typing.Improves(types, a, a, 64))
	}
	for layout, want := range map[heaptype.Layout]string{
		heaptype.LayoutValue: "*" + pkg + "twoWords", heaptype.LayoutArray: "[]" + pkg + "twoWords", heaptype.LayoutBoxed: pkg + "twoWords",
		heaptype.LayoutString: "string",
	} {
		assert.Equal(t, want, typing.RefName(types, of(two, layout, 0, false, 0)))
	}
	runtime.KeepAlive(&twoWords{})
}

// literal refers to an array that the compiler made, which has no symbol.
var literal = []*int{&literalInts[0], &literalInts[1], &literalInts[2]}

var literalInts [3]int

// The data behind a slice literal is found by the reference to it, whose typing it has.
func TestAnonymousData(t *testing.T) {
	literal[1] = new(int)
	p := heaptest.Capture(t)
	types := tableOf(t, p)
	segments := typing.LoadSegments(types)
	at := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(literal))))
	typ := types.Named("*int")
	e := heaptype.Edge{To: at, Size: 24, Type: typ, Layout: heaptype.LayoutArray, Confidence: heaptype.FromStatic}
	carved := segments.Carve(e)
	require.NotNil(t, carved)
	assert.Equal(t, at, carved.Addr)
	assert.Equal(t, addressOf(literal[1]), heaptype.Word(carved.Mem, 8))
	assert.Len(t, carved.Mem, 24)
	for _, change := range []func(e *heaptype.Edge){
		func(e *heaptype.Edge) { e.Type = nil },
		func(e *heaptype.Edge) { e.Size = 0 },
		func(e *heaptype.Edge) { e.Size = 1 << 40 },
		func(e *heaptype.Edge) { e.Type = types.Named("int") },
		func(e *heaptype.Edge) { e.To = uint64(uintptr(unsafe.Pointer(&literal))) }, // a variable of its own
		func(e *heaptype.Edge) { e.To = addressOf(literal[1]) },                     // on the heap
	} {
		other := e
		change(&other)
		assert.Nil(t, segments.Carve(other))
	}

	set := typing.NewAnonymousSet(types)
	put := func(addr, size uint64, confidence heaptype.Confidence) bool {
		_, ok := set.Put(&typing.Anonymous{
			Addr: addr, Mem: make([]byte, size), Typing: typing.Typing{Type: typ.Index, Layout: heaptype.LayoutArray, Grounds: typing.Grounds{Confidence: confidence}},
		})
		return ok
	}
	assert.True(t, put(200, 24, heaptype.FromStatic))
	assert.True(t, put(100, 24, heaptype.FromStatic))
	assert.True(t, put(200, 32, heaptype.FromStatic), "it is larger")
	assert.False(t, put(200, 24, heaptype.FromDynamic), "it is smaller")
	assert.True(t, put(200, 32, heaptype.FromDynamic), "it is better founded")
	assert.False(t, put(200, 32, heaptype.FromDynamic), "it is the same")
	set.Sort()
	require.Len(t, set.List, 2)
	for want, addr := range []uint64{100, 200} {
		i, ok := set.At(addr)
		assert.True(t, ok)
		assert.EqualValues(t, want, i)
		assert.Equal(t, addr, set.List[i].Addr)
	}
	_, ok := set.At(150)
	assert.False(t, ok)
}

// Addresses lead to the static data that holds them, and its references are words of the mask.
func TestStaticsByAddress(t *testing.T) {
	p := heaptest.Capture(t)
	segments := typing.LoadSegments(tableOf(t, p))
	require.Greater(t, len(segments.Statics), 100)
	for i := range segments.Statics {
		s := &segments.Statics[i]
		last := s.Addr + uint64(s.Size) - 1
		if i+1 < len(segments.Statics) && segments.Statics[i+1].Addr <= last {
			continue // symbols overlap
		}
		require.Equal(t, i, segments.At(s.Addr), s.Name)
		require.Equal(t, i, segments.At(last), s.Name)
		if i+1 == len(segments.Statics) || segments.Statics[i+1].Addr > last+1 {
			require.Equal(t, -1, segments.At(last+1), s.Name)
		}
	}
	require.Equal(t, -1, segments.At(segments.Statics[0].Addr-1))
	var found []uint64
	s := &segments.Statics[segments.At(uint64(uintptr(unsafe.Pointer(&literal))))]
	segments.References(s, func(at, to uint64) { found = append(found, at, to) })
	assert.Equal(t, []uint64{s.Addr, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(literal))))}, found)
}

// A batch gives all references on, in order, each with the object that it leads to.
func TestBatch(t *testing.T) {
	var objects [77]*int
	for i := range objects {
		objects[i] = new(int)
	}
	p := heaptest.Capture(t)
	n := 0
	b := typing.Batch{M: p.Model(), Typings: p.Heap.Typings, Masks: true}
	address := func(i int) uint64 {
		if i%5 == 0 {
			return uint64(i) // of no object
		}
		return addressOf(objects[i])
	}
	typ := tableOf(t, p).Named("int")
	edge := func(i int) heaptype.Edge {
		return heaptype.Edge{Ref: uint32(i), To: address(i), Fn: 3, Size: 4, Type: typ, Layout: heaptype.LayoutBoxed, Confidence: heaptype.FromDynamic, Inner: true, Slack: 5}
	}
	b.Take = func(e *heaptype.Edge, s *goruntime.Span, obj uint32) {
		want, number := p.Model().Object(address(n))
		require.Equal(t, edge(n), *e)
		require.Same(t, want, s)
		require.Equal(t, number, obj)
		n++
	}
	add := b.Adder()
	for i := range objects {
		add(edge(i))
	}
	b.Flush()
	b.Flush()
	assert.Len(t, objects, n)
}
