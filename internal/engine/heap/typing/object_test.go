package typing_test

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// An array may be shorter than its block. Behind it lies what an earlier object left there, which
// the collector does not follow.
func TestWalkEndsWithTheArray(t *testing.T) {
	other := new(int)
	array := make([]*int, 5, 5+len(literalInts)/8) // no constant; of 40 bytes, in a block of 48
	array[0], array[4] = new(int), new(int)
	tail := (*uintptr)(unsafe.Add(unsafe.Pointer(&array[4]), 8))
	*tail = uintptr(unsafe.Pointer(other))
	structs := make([]twoWords, 9, 9+len(literalInts)/8) // of 144 bytes, in a block of that size
	structs[8].a = new(int)
	p := heaptest.Capture(t)
	types := tableOf(t, p)
	walk := func(first any, elem string) (found []uint64, size uint64) {
		s, obj := p.Model().Object(addressOf(first))
		ty := typing.Typing{Type: types.Named(elem).Index, Layout: heaptype.LayoutArray}
		typing.WalkObject(&heaptype.Walker{Types: types, Emit: func(e heaptype.Edge) { found = append(found, e.To) }}, ty, s, obj)
		return found, s.ElemSize
	}
	found, size := walk(&array[0], "*int")
	require.Equal(t, uint64(48), size)
	assert.Equal(t, []uint64{addressOf(array[0]), addressOf(array[4])}, found)
	found, size = walk(&structs[0], pkg+"twoWords")
	require.Equal(t, uint64(144), size)
	assert.Equal(t, []uint64{addressOf(structs[8].a)}, found, "the last element has a pointer, and its last word none")
	runtime.KeepAlive(other)
	runtime.KeepAlive(array)
	runtime.KeepAlive(structs)
}
