//go:build go1.26

package heaptype

import (
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Several goroutines request all types of a program at once, each in another order and half of them
// from another table. All get the same types, which equal those that a single goroutine gets from a
// table that shares none, except for their indexes.
func TestTypesForManyGoroutines(t *testing.T) {
	p := imagetest.Record(t)
	index := p.Index
	load := func(own bool) *Table {
		m, err := p.Load(p)
		require.NoError(t, err)
		tt, err := NewTable(m, index, own)
		require.NoError(t, err)
		return tt
	}
	ask := func(tt *Table, first int) []*Type {
		n := index.NumTypes()
		found := make([]*Type, 4*(n+1))
		for i := range n {
			id := debuginfo.TypeID((i+first)%n + 1)
			at := found[4*id:]
			at[0] = tt.ByID(id)
			for k := range at[0].Ops {
				if target := tt.target(&at[0].Ops[k]); target != nil {
					at[1] = target
				}
			}
			d := index.Type(id)
			if at[2] = tt.ByDescriptor(d.RuntimeAddr); d.Kind == reflect.Map {
				at[3] = tt.MapLayout(at[0]).Val
			}
			tt.byteType()
		}
		return found
	}
	alone := ask(load(false), 0)

	const workers = 8
	together := [2]*Table{load(true), load(true)}
	var results [workers][]*Type
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { results[w] = ask(together[w%2], w*index.NumTypes()/workers) })
	}
	wg.Wait()
	for range 3 {
		runtime.GC() // the kept types have to keep what they lead to, or lead out of the heap
	}
	made := 0
	for i, want := range alone {
		got := results[0][i]
		for w := range workers {
			require.Same(t, got, results[w][i])
		}
		require.Equal(t, want == nil, got == nil)
		if got == nil {
			continue
		}
		made++
		require.Equal(t, want.Name, got.Name)
		require.Equal(t, want.Words, got.Words, want.Name)
		require.Equal(t, want.Refs, got.Refs, want.Name)
		require.Len(t, got.Ops, len(want.Ops), want.Name)
		for ref := range want.Refs {
			require.Equal(t, want.Label(ref), got.Label(ref), want.Name)
		}
		if got.Index != 0 {
			require.Same(t, got, together[1].At(got.Index))
		}
	}
	require.Greater(t, made, 1000)
}
