package attribute_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// graphs returns a function that builds the heap of one small program anew each time.
func graphs(t *testing.T) func() *typedheap.Heap {
	p := imagetest.Record(t)
	return func() *typedheap.Heap { return heaptest.Build(t, p, typedheap.Options{}) }
}

// The report does not depend on which worker gathers references, nor on how many objects it takes
// at a time: neither do the charges, nor the order in which a watcher receives them.
func TestAttributionByManyIsTheSame(t *testing.T) {
	graph := graphs(t)
	type charge struct {
		path  string
		obj   uint32
		bytes int64
	}
	attribute := func(procs, size int, portions heaptype.PortionSizes) (*attribute.Result, []charge) {
		var charges []charge
		record := func(n *attribute.Node, obj uint32, objects, bytes int64) {
			charges = append(charges, charge{n.Name, obj, bytes})
		}
		res := attribute.Run(graph(), root.Program{}, attribute.Options{Charged: record, Workers: procs, TaskSize: size, Portions: portions})
		return res, charges
	}
	sums := func(charges []charge) map[string]int64 {
		bytes := make(map[string]int64)
		for _, c := range charges {
			bytes[c.path] += c.bytes
		}
		return bytes
	}
	undivided, undividedCharges := attribute(1, 1, heaptype.PortionSizes{})
	small := heaptype.PortionSizes{Array: 64, Directory: 1}
	want, wantCharges := attribute(1, 1, small)
	require.Greater(t, len(want.Roots), 50)
	require.Equal(t, undivided.Totals, want.Totals)
	require.Equal(t, sums(undividedCharges), sums(wantCharges))
	for _, procs := range []int{2, 8} {
		for _, size := range []int{1, 7, 50} {
			res, charges := attribute(procs, size, small)
			require.Equal(t, want, res, "%d workers, %d objects at a time", procs, size)
			require.Equal(t, wantCharges, charges)
		}
	}
}
