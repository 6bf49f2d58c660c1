package heaptype_test

//lint:file-ignore U1000 the collector and reflection look at fields

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Types tell what their values lead to, and which objects may be theirs.
func TestLeads(t *testing.T) {
	p := heaptest.Capture(t)
	types, err := heaptype.NewTable(p.Model(), p.Index(), false)
	require.NoError(t, err)
	leads := make(map[string]int)
	types.Leads(types.Named(pkg+"holder"), func(layout heaptype.Layout, to *heaptype.Type) {
		leads[layouts[layout]+" of "+strings.ReplaceAll(to.Name, pkg, "")]++
	})
	for lead, n := range map[string]int{
		"value of point": 3, "array of *point": 1, "array of point": 1, "map of map[string]*point": 1, "map of map[int]*point": 1, "map of map[int]int": 1,
	} {
		assert.GreaterOrEqual(t, leads[lead], n, lead)
	}
	entries := 0
	types.Leads(types.Named("map[string]*"+pkg+"point"), func(layout heaptype.Layout, to *heaptype.Type) {
		if layout == heaptype.LayoutValue && to.Name == pkg+"point" {
			entries++
		}
	})
	assert.Equal(t, 1, entries, "the entries of a map")

	at := types.Named(pkg + "point")
	assert.Equal(t, []uint32{1}, at.Words)
	header := types.Named("internal/runtime/maps.Map")
	for _, c := range []struct {
		typ        *heaptype.Type
		layout     heaptype.Layout
		size, mask uint64
		want       bool
	}{
		{at, heaptype.LayoutValue, 16, 0b10, true},
		{at, heaptype.LayoutValue, 24, 0b10, false},
		{at, heaptype.LayoutValue, 16, 0b11, false},
		{at, heaptype.LayoutArray, 48, 0b101010, true},
		{at, heaptype.LayoutArray, 48, 0b001010, true}, // shorter than its size class
		{at, heaptype.LayoutArray, 48, 0b100010, false},
		{at, heaptype.LayoutArray, 48, 0b101011, false},
		{at, heaptype.LayoutArray, 8, 0b10, false},
		{at, heaptype.LayoutMap, 48, header.Mask, true},
		{at, heaptype.LayoutMap, 48, header.Mask + 1, false},
		{at, heaptype.LayoutString, 16, 0, false},
	} {
		assert.Equal(t, c.want, types.FitsObject(c.typ, c.layout, c.size, c.mask), "%s of %d bytes, %b", layouts[c.layout], c.size, c.mask)
	}
}

// An only outer has an inner of its own, at an offset.
type (
	inner     struct{ a, b *int }
	onlyOuter struct {
		n    [3]int
		in   inner
		tail *string
	}
)

// A struct is known by a part of it, if no other has such a part and such pointers.
func TestEnclosing(t *testing.T) {
	outer := &onlyOuter{in: inner{a: new(int)}}
	p := heaptest.Capture(t)
	types, err := heaptype.NewTable(p.Model(), p.Index(), false)
	require.NoError(t, err)
	id, ok := p.Index().TypeByName(pkg + "inner")
	require.True(t, ok)
	q := heaptype.EnclosingQuery{Part: id, Offset: 24, Mask: 0b111000, Size: 48}
	whole := types.Enclosing(q)
	require.NotNil(t, whole)
	assert.Equal(t, pkg+"onlyOuter", whole.Name)
	for _, other := range []heaptype.EnclosingQuery{
		{Part: id, Offset: 32, Mask: q.Mask, Size: q.Size},
		{Part: id, Offset: 24, Mask: 0b011000, Size: q.Size},
		{Part: id, Offset: 24, Mask: q.Mask, Size: 64},
		{Offset: 24, Mask: q.Mask, Size: q.Size},
	} {
		assert.Nil(t, types.Enclosing(other))
	}
	runtime.KeepAlive(outer)
}

// A channel at an address has the type that its memory tells, and room for what it does not hold.
func TestChannels(t *testing.T) {
	full, empty := make(chan *point, 4), make(chan [2]*point, 3)
	full <- new(point)
	p := heaptest.Capture(t)
	types, err := heaptype.NewTable(p.Model(), p.Index(), false)
	require.NoError(t, err)
	for _, c := range []struct {
		channel any
		room    uint64
	}{{full, 3 * 8}, {empty, 3 * 16}} {
		addr := uint64(reflect.ValueOf(c.channel).Pointer())
		e, ok := types.ChannelEdge(addr)
		require.True(t, ok)
		assert.Equal(t, strings.ReplaceAll(reflect.TypeOf(c.channel).String(), "heaptype_test.", pkg), e.Type.Name)
		s, obj := p.Model().Object(addr)
		assert.Equal(t, c.room, types.ChannelRoom(e.Type, s, obj))
	}
	_, ok := types.ChannelEdge(8)
	assert.False(t, ok)
	runtime.KeepAlive(full)
	runtime.KeepAlive(empty)
}

// The argument of a cleanup has the type of the parameter of its function.
func TestCleanupArgument(t *testing.T) {
	object := new(holder)
	runtime.AddCleanup(object, func(f failure) { f.at.move() }, failure{numbered(1)})
	p := heaptest.Capture(t)
	types, err := heaptype.NewTable(p.Model(), p.Index(), false)
	require.NoError(t, err)
	_, of := p.Model().Object(uint64(uintptr(unsafe.Pointer(object))))
	found := 0
	require.NoError(t, goruntime.EachSpecial(p.Model(), func(s goruntime.Special) {
		if s.Kind == goruntime.Cleanup && s.Obj == of {
			found++
			e := types.Argument(s)
			require.NotNil(t, e.Type)
			assert.Equal(t, pkg+"failure", e.Type.Name)
			f := types.FuncEdge(s.Fn)
			require.NotNil(t, f.Type)
			assert.Equal(t, "func "+pkg+"TestCleanupArgument.func1", f.Type.Name)
		}
	}))
	assert.Equal(t, 1, found)
	assert.Equal(t, heaptype.Edge{}, types.FuncEdge(0))
	runtime.KeepAlive(object)
}
