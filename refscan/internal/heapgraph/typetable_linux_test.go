package heapgraph

import (
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/imagetest"
)

// Several goroutines ask for all types of a program at once, each in another order, and get the same ones: those that one gets
// who asks alone, but for their numbers.
func TestTypesForManyGoroutines(t *testing.T) {
	p := imagetest.Record(t)
	index := p.Index
	load := func() *typeTable {
		m, err := p.Load(p)
		require.NoError(t, err)
		return newTypeTable(m, index)
	}
	ask := func(tt *typeTable, first int) []*Type {
		n := index.NumTypes()
		found := make([]*Type, 4*(n+1))
		for i := range n {
			id := debuginfo.TypeID((i+first)%n + 1)
			at := found[4*id:]
			at[0] = tt.byID(id)
			for k := range at[0].ops {
				if target := tt.target(&at[0].ops[k]); target != nil {
					at[1] = target
				}
			}
			d := index.Type(id)
			if at[2] = tt.byRuntimeType(d.RuntimeAddr); d.Kind == reflect.Map {
				at[3] = tt.mapLayout(at[0]).val
			}
			tt.bytes()
		}
		return found
	}
	alone := ask(load(), 0)

	const workers = 8
	together := load()
	var results [workers][]*Type
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { results[w] = ask(together, w*index.NumTypes()/workers) })
	}
	wg.Wait()
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
		require.Equal(t, want.words, got.words, want.Name)
		require.Equal(t, want.ords, got.ords, want.Name)
		require.Len(t, got.ops, len(want.ops), want.Name)
		if got.index != 0 {
			require.Same(t, got, together.at(got.index))
		}
	}
	require.Greater(t, made, 1000)
}

// Several goroutines walk all objects at once, and find what one finds who walks alone.
func TestWalksByManyGoroutines(t *testing.T) {
	g := GraphOf(t, imagetest.Record(t))

	type sum struct{ references, typed, addresses uint64 }
	walk := func() (s sum) {
		w := walker{g: g, emit: func(e edge) {
			s.references++
			s.addresses += e.to
			if e.typ != nil {
				s.typed++
			}
		}}
		for obj := range g.m.NumObjects {
			if g.Reached(obj) {
				g.references(&w, obj)
			}
		}
		return s
	}
	const workers = 8
	var sums [workers]sum
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { sums[i] = walk() })
	}
	wg.Wait()
	alone := walk()
	require.Greater(t, alone.typed, uint64(1000))
	for _, s := range sums {
		require.Equal(t, alone, s)
	}
}

func TestPackedTypings(t *testing.T) {
	for _, ty := range []typing{
		{},
		{typ: maxIndex, off: 1<<32 - 1, form: formInternal, rank: rankOwned, full: true},
		{typ: 1},
		{off: 1},
		{form: formOne},
		{rank: rankInterior},
		{full: true},
	} {
		require.Equal(t, ty, unpack(ty.pack()))
	}
	require.Less(t, int(formInternal), 1<<typingFormBits)
	require.Less(t, int(rankOwned), 1<<typingRankBits)
	require.Equal(t, 64, typingTypeBits+typingOffBits+typingFormBits+typingRankBits+1)
}

// GraphOf builds the graph of the recorded program.
func GraphOf(t *testing.T, p *imagetest.Program) *Graph {
	t.Helper()
	m, err := p.Load(p)
	require.NoError(t, err)
	g, err := Build(m, p.Index, "")
	require.NoError(t, err)
	return g
}
