package refscan_test

import (
	"fmt"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

type counted struct {
	next *counted
	text string
	any  any
}

// A long list, a wide slice and a map, with small values in shared blocks, and interfaces of
// several types.
func countedHeap(n int) (*counted, []*counted, map[string]*counted) {
	var list *counted
	var wide []*counted
	index := make(map[string]*counted)
	for i := range n {
		list = &counted{next: list, text: fmt.Sprint(i), any: i}
		wide = append(wide, &counted{any: list.text})
		index[fmt.Sprint("key ", i)] = &counted{any: &counted{}}
	}
	return list, wide, index
}

// Attribution allocates for nodes, roots and levels of nodes, not for objects nor for the elements
// of a list.
func TestAttributionAllocatesNothingForObjects(t *testing.T) {
	long(t)
	require.Slow(t)
	// Looking at what memory is left allocates, too, every 50 ms: the least counts, see
	// TestAllocationsPerObject.
	attribution := func(n int, enough float64) (allocs float64, objects int64) {
		list, wide, index := countedHeap(n)
		s, err := refscan.Capture()
		require.NoError(t, err)
		defer s.Close()
		require.NotNil(t, list)
		require.Len(t, wide, len(index))
		r, err := s.Scan()
		require.NoError(t, err)
		attribute, err := s.Attribution()
		require.NoError(t, err)
		allocs = testing.AllocsPerRun(1, attribute)
		for i := 1; i < 3 || i < 20 && allocs > enough; i++ {
			allocs = min(allocs, testing.AllocsPerRun(1, attribute))
		}
		return allocs, r.Totals.LiveObjects
	}
	few, before := attribution(10, 0)
	many, after := attribution(50_000, few+2000)
	t.Logf("%.0f allocations for %d objects, %.0f for %d", few, before, many, after)
	require.Greater(t, after-before, int64(300_000))
	require.Less(t, many-few, 2000.0)
}
