package edges_test

import (
	"math/rand/v2"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/edges"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// listOf returns the successors of a vertex.
func listOf(g *edges.Graph, v uint32) (list []uint32) {
	for _, e := range g.From(v) {
		list = append(list, e&^edges.Last)
		if e&edges.Last != 0 {
			break
		}
	}
	return list
}

// A graph has the lists that were written, whatever room there was for them.
func TestLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, room := range []uint64{1, 7, 5000} {
		want := make([][]uint32, 300)
		g, ok := edges.New(uint64(len(want)), room)
		require.True(t, ok)
		w := edges.Writer{Graph: g}
		for _, v := range rng.Perm(len(want)) {
			w.Begin(uint32(v))
			for range rng.IntN(20) * rng.IntN(2) {
				to := rng.Uint32N(uint32(len(want)))
				want[v] = append(want[v], to)
				w.Edge(to)
			}
			w.End()
		}
		for v, list := range want {
			require.Equal(t, list, listOf(g, uint32(v)))
		}
		require.Equal(t, len(want), g.Len())
		require.LessOrEqual(t, int(w.At), g.Room())
		g.Release()
	}
	_, ok := edges.New(1<<31, 1)
	require.False(t, ok)
	_, ok = edges.New(1, 1<<32)
	require.False(t, ok)
}
