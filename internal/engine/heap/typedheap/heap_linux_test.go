//go:build go1.26

package typedheap_test

import (
	"sync"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/live"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Several goroutines walk all objects at once. Each finds the same as a single goroutine.
func TestWalksByManyGoroutines(t *testing.T) {
	g := heaptest.Build(t, imagetest.Record(t), typedheap.Options{})

	type sum struct{ references, typed, addresses uint64 }
	walk := func() (s sum) {
		w := heaptype.Walker{Types: g.Types, Emit: func(e heaptype.Edge) {
			s.references++
			s.addresses += e.To
			if e.Type != nil {
				s.typed++
			}
		}}
		for obj := range g.Model.NumObjects {
			if g.Live.Marked.Has(obj) {
				g.References(&w, obj)
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

// However many goroutines mark and type a heap, the result is the same.
func TestWorkersAgree(t *testing.T) {
	p := imagetest.Record(t)
	small := heaptype.PortionSizes{Array: 64, Directory: 1}
	type typed struct {
		name string
		typing.Typing
	}
	build := func(procs int) (*typedheap.Heap, []typed) {
		g := heaptest.Build(t, p, typedheap.Options{Workers: procs, DenseRound: 1, Portions: small})
		all := make([]typed, g.Model.NumObjects)
		for obj := range all {
			ty := g.Typings.Of(uint32(obj))
			all[obj].Typing, all[obj].Type = ty, 0 // indexes of types differ
			if ty.Type != 0 {
				all[obj].name = g.Types.At(ty.Type).Name
			}
		}
		return g, all
	}
	alone, want := build(1)
	report := attribute.Run(alone, root.Program{}, attribute.Options{Portions: small})
	for range 3 {
		for _, procs := range []int{2, 8} {
			g, got := build(procs)
			require.Equal(t, alone.Live.Marked, g.Live.Marked)
			require.Equal(t, want, got)
			require.Len(t, g.Anonymous.List, len(alone.Anonymous.List))
			for i := range g.Anonymous.List {
				require.Equal(t, alone.Anonymous.List[i].Addr, g.Anonymous.List[i].Addr)
			}
			res := attribute.Run(g, root.Program{}, attribute.Options{Portions: small})
			require.Equal(t, report.Totals, res.Totals)
			require.Equal(t, outline(report.Roots), outline(res.Roots))
		}
	}
}

// The walk for types marks what masks alone lead to, no more and no less.
func TestMarksAreThoseOfMasks(t *testing.T) {
	p := imagetest.Record(t)
	g := heaptest.Build(t, p, typedheap.Options{Workers: 2, DenseRound: 1})
	for _, workers := range []int{1, 2} {
		alone, err := live.Begin(g.Model, g.Segments, workers)
		require.NoError(t, err)
		require.NoError(t, alone.Finish())
		require.Equal(t, alone.Marked, g.Live.Marked)
		require.Equal(t, alone.Finalize, g.Live.Finalize)
	}
}

// outline lists what a report says of its nodes.
func outline(nodes []*attribute.Node) []any {
	var out []any
	for _, n := range nodes {
		out = append(out, n.Name, n.Type, n.Objects, n.Bytes, n.UntypedBytes, n.Elems, outline(n.Children))
	}
	return out
}
