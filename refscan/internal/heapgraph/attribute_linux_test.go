package heapgraph_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/refscan/internal/heapgraph"
	"github.com/leakgate/leakgate/refscan/internal/imagetest"
)

// graphs returns a function that explains the heap of one small program anew each time.
func graphs(t *testing.T) func() *heapgraph.Graph {
	p := imagetest.Record(t)
	return func() *heapgraph.Graph { return heapgraph.GraphOf(t, p) }
}

// Who gathers references, and how many objects at a time, does not show in the report: neither in what is charged, nor in the order
// in which a watcher hears of it.
func TestAttributionByManyIsTheSame(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	graph := graphs(t)
	type charge struct {
		path  string
		obj   uint32
		bytes int64
	}
	attribute := func(procs, size int) (*heapgraph.Result, []charge) {
		runtime.GOMAXPROCS(procs)
		g := graph()
		g.SetTaskSize(size)
		var charges []charge
		res := g.Attribute(func(n *heapgraph.Node, obj uint32, bytes int64) {
			charges = append(charges, charge{n.Name, obj, bytes})
		})
		return res, charges
	}
	sums := func(charges []charge) map[string]int64 {
		bytes := make(map[string]int64)
		for _, c := range charges {
			bytes[c.path] += c.bytes
		}
		return bytes
	}
	undivided, undividedCharges := attribute(1, 1)
	defer heapgraph.SetPortions(64, 1)()
	want, wantCharges := attribute(1, 1)
	require.Greater(t, len(want.Roots), 50)
	require.Equal(t, undivided.Totals, want.Totals)
	require.Equal(t, sums(undividedCharges), sums(wantCharges))
	for _, procs := range []int{2, 8} {
		for _, size := range []int{1, 7, 50} {
			res, charges := attribute(procs, size)
			require.Equal(t, want, res, "%d workers, %d objects at a time", procs, size)
			require.Equal(t, wantCharges, charges)
		}
	}
}
