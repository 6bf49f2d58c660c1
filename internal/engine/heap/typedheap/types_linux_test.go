//go:build go1.26

package typedheap_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/heap/stackvar"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// The prefixes of the names of types.
const (
	own  = "github.com/leakgate/leakgate/internal/engine/heap/typedheap_test."
	knot = heaptest.Package + "Knot"
)

// A frame is the only type that has a part where it has one.
type frame struct {
	before [3]*heaptest.Knot
	number int
	part   part
}

// A part lies in frames.
type part struct {
	name    string
	picture *heaptest.Corner
}

// kept has the only references to objects, each of which is typed in another way.
var kept struct {
	slice, middle    []*heaptest.Knot
	values           []part
	bytes            []byte
	text             string
	table            map[int]*heaptest.Knot
	queue            chan *heaptest.Knot
	call             func() *heaptest.Knot
	any              any
	inner            *part
	large, many, two unsafe.Pointer
	small            unsafe.Pointer
	shared           *int32
}

// An object is what is known of an object: where it lies, as a number, which keeps nothing alive.
type object struct {
	addr uint64
	typ  string // of a reference to it
	kind string
}

func at[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// word is the address in a map, channel or func.
func word[T any](p *T) uint64 { return *(*uint64)(unsafe.Pointer(p)) }

// keep makes objects that kept refers to.
//
//go:noinline
func keep(length int) []object {
	k, to := &kept, new(heaptest.Knot)
	k.slice, k.values, k.bytes, k.text = make([]*heaptest.Knot, length), make([]part, length), make([]byte, 8*length), string(make([]byte, 8*length))
	middle := make([]*heaptest.Knot, 2*length)
	k.middle = middle[length : length+2]
	k.table, k.queue = map[int]*heaptest.Knot{1: to}, make(chan *heaptest.Knot, length)
	k.call = func() *heaptest.Knot { return to }
	corner, outer := new(heaptest.Corner), new(frame)
	k.any, k.inner = corner, &outer.part
	outer.before[0], outer.number, outer.part.name = nil, 1, "part"
	outer.part.picture, k.slice[0], k.middle[0], k.values[1].picture = corner, to, to, corner
	large, many, small := new([200]*heaptest.Knot), make([]heaptest.Knot, 100), new(heaptest.Corner)
	k.large, k.many, k.small = unsafe.Pointer(large), unsafe.Pointer(&many[0]), unsafe.Pointer(small)
	two := make([][40]*heaptest.Knot, 2)
	k.two, k.shared = unsafe.Pointer(&two[0]), new(int32)
	return []object{
		{at(&k.slice[0]), "[]*" + knot, "a slice"},
		{at(&middle[0]), "[]*" + knot, "a part of a slice"},
		{at(&k.values[0]), "[]" + own + "part", "a slice of structs"},
		{at(&k.bytes[0]), "[]uint8", "a slice without pointers"},
		{at(unsafe.StringData(k.text)), "string", "a string"},
		{word(&k.table), "map[int]*" + knot, "a map"},
		{word(&k.queue), "chan *" + knot, "a channel"},
		{word(&k.call), "func " + own + "keep.func1", "a closure"},
		{at(to), "*" + knot, "what several refer to"},
		{at(corner), "*" + heaptest.Package + "Corner", "in an interface"},
		{at(outer), "*" + own + "frame", "a struct, by a part of it"},
		{at(large), "*[200]*" + knot, "a large object, by the allocator"},
		{at(&many[0]), "[]" + knot, "a large array, by the allocator"},
		{at(&two[0]), "[][40]*" + knot, "an array of two, by the allocator"},
		{at(small), "", "a small object that nothing types"},
	}
}

// Objects are of the types that they were made with, however references lead to them.
func TestTypes(t *testing.T) {
	made := keep(40)
	p := heaptest.Capture(t)
	for _, o := range made {
		target, err := p.Heap.Target(o.addr)
		require.NoError(t, err, o.kind)
		assert.Equal(t, o.typ, target.Type, o.kind)
		assert.False(t, target.Inner || target.Shared, o.kind)
		s, obj := p.Model().Object(o.addr)
		require.NotNil(t, s)
		assert.Equal(t, obj, target.Object)
		if allocated := p.Heap.AllocatedType(s, obj); strings.HasSuffix(o.kind, "by the allocator") {
			assert.Equal(t, o.typ, allocated, o.kind)
		} else if s.HasSmallMask() || s.NoScan {
			assert.Empty(t, allocated, o.kind)
		}
		inner, err := p.Heap.Target(o.addr + 1)
		require.NoError(t, err, o.kind)
		assert.True(t, inner.Inner && inner.Object == obj, o.kind)
	}
	shared, err := p.Heap.Target(at(kept.shared))
	require.NoError(t, err)
	assert.True(t, shared.Shared && shared.Type == "", "small values without pointers share blocks")
	_, err = p.Heap.Target(at(&kept))
	require.ErrorIs(t, err, typedheap.ErrNotOnHeap)
	assert.False(t, p.Heap.Confused)

	missed := int64(0)
	p.Heap.Missed(func(s *goruntime.Span, index uint32) {
		assert.True(t, s.Marked(index) && !p.Heap.Live.Marked.Has(s.FirstObj+index))
		missed++
	})
	totals := p.Heap.Totals(nil)
	assert.Equal(t, totals.MissedObjects, missed)
	assert.Equal(t, totals.LiveObjects, totals.AttributedObjects+missed)

	found := make(map[string]string)
	for i := range p.Heap.Live.Stacks {
		require.NoError(t, p.Heap.Variables(i, func(v stackvar.Variable) { found[v.Func+"."+v.Name] = v.Type }))
	}
	assert.Equal(t, "*testing.T", found["testing.tRunner.t"])
}

// All objects of a random graph are of the types that they were made with.
func TestTypesOfGraph(t *testing.T) {
	defer heaptest.ClearGraph()
	made := heaptest.FillGraph(rand.New(rand.NewPCG(1, 2)), 600, true)
	p := heaptest.Capture(t)
	alive := 0
	for _, m := range made {
		s, obj := p.Model().Object(uint64(m.Addr))
		if s == nil || !p.Heap.Live.Marked.Has(obj) || s.Addr(obj) != uint64(m.Addr) {
			continue
		}
		target, err := p.Heap.Target(uint64(m.Addr))
		require.NoError(t, err)
		require.Equal(t, m.Type, target.Type)
		alive++
	}
	require.Greater(t, alive, 300)
}
