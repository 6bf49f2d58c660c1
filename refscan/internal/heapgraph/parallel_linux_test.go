package heapgraph

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/refscan/internal/imagetest"
)

// However many goroutines mark and type a heap, the result is the same.
func TestWorkersAgree(t *testing.T) {
	p := imagetest.Record(t)
	oldHeap, oldRound := smallHeap, smallRound
	defer func() { smallHeap, smallRound = oldHeap, oldRound }()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))

	type typed struct {
		name string
		typing
	}
	build := func(procs int) (*Graph, []typed) {
		runtime.GOMAXPROCS(procs)
		g := GraphOf(t, p)
		require.Equal(t, procs, g.workers())
		all := make([]typed, len(g.typing))
		for obj := range g.typing {
			ty := g.typing.of(uint32(obj))
			all[obj].typing, all[obj].typ = ty, 0 // numbers differ
			if ty.typ != 0 {
				all[obj].name = g.types.at(ty.typ).Name
			}
		}
		return g, all
	}
	smallHeap, smallRound = 0, 0
	defer SetPortions(64, 1)()
	alone, want := build(1)
	report := alone.Attribute(nil)
	for range 3 {
		for _, procs := range []int{2, 8} {
			g, got := build(procs)
			require.Equal(t, alone.marked, g.marked)
			require.Equal(t, want, got)
			require.Len(t, g.pieces, len(alone.pieces))
			for i := range g.pieces {
				require.Equal(t, alone.pieces[i].addr, g.pieces[i].addr)
			}
			res := g.Attribute(nil)
			require.Equal(t, report.Totals, res.Totals)
			require.Equal(t, outline(report.Roots), outline(res.Roots))
		}
	}
}

// outline is what a report says of nodes.
func outline(nodes []*Node) []any {
	var out []any
	for _, n := range nodes {
		out = append(out, n.Name, n.Type, n.Objects, n.Bytes, n.UntypedBytes, n.Elems, outline(n.Children))
	}
	return out
}
