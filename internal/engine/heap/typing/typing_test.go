package typing

import (
	"sync"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestTable(t *testing.T) {
	all := []Typing{
		{Type: heaptype.MaxIndex, Offset: 1<<32 - 1, Layout: heaptype.LayoutInternal, Grounds: Grounds{Confidence: heaptype.FromOwner, Full: true}},
		{Type: heaptype.MaxIndex, Layout: heaptype.LayoutInternal, Grounds: Grounds{Confidence: heaptype.FromOwner, Full: true}},
		{Type: 1},
		{Offset: 1},
		{Layout: heaptype.LayoutValue},
		{Grounds: Grounds{Confidence: heaptype.FromInterior}},
		{Grounds: Grounds{Full: true}},
		{},
	}
	for _, objects := range []uint32{3, offHeap} {
		table := NewTable(objects)
		defer table.Free()
		table.Touch()
		obj := objects - 1
		require.Zero(t, table.Of(obj))
		for _, ty := range all {
			_, word := table.Load(obj)
			require.True(t, table.Replace(obj, word, ty))
			require.Equal(t, ty, table.Of(obj))
			now, changed := table.Load(obj)
			require.Equal(t, ty, now)
			if changed != word {
				require.False(t, table.Replace(obj, word, Typing{Type: 7}), "another one was there before")
				require.False(t, table.Replace(obj, word, Typing{Type: 7, Offset: 8}))
			}
			require.Equal(t, ty, table.Of(obj))
		}
		require.Zero(t, table.Of(0))
	}
}

// Several goroutines replace typings, of which many are in the list on the side.
func TestTypingsAside(t *testing.T) {
	const objects = 5 * chunkLen
	table := NewTable(objects)
	defer table.Free()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for obj := range uint32(objects) {
				old, word := table.Load(obj)
				for uint32(i) >= old.Offset && !table.Replace(obj, word, Typing{Type: int32(obj), Offset: uint32(i) + 1}) {
					old, word = table.Load(obj)
				}
			}
		}()
	}
	wg.Wait()
	for obj := range uint32(objects) {
		require.Equal(t, Typing{Type: int32(obj), Offset: 4}, table.Of(obj))
	}
}

// Typings for which the list has no room are left out.
func TestTypingsBeyondRoom(t *testing.T) {
	table := NewTable(1)
	table.aside.n = maxAside
	require.True(t, table.Replace(0, 0, Typing{Type: 1, Offset: 8}))
	require.Zero(t, table.Of(0))
	require.True(t, table.Replace(0, 0, Typing{Type: 1}))
	require.Equal(t, Typing{Type: 1}, table.Of(0))
}
