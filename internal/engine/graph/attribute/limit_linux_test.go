package attribute_test

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestTreeIsBounded reports one heap with lower and lower bounds. Objects that have no room for a
// node of their own are charged where the tree ends: nothing is lost, only less is typed.
func TestTreeIsBounded(t *testing.T) {
	graph := graphs(t)
	report := func(limit int) *attribute.Result {
		return attribute.Run(graph(), root.Program{}, attribute.Options{MaxTree: limit})
	}
	full := report(0)
	nodes, _, bytes := size(full.Roots, 0)
	require.Equal(t, full.Totals.AttributedBytes, bytes)
	require.Greater(t, nodes, 200)
	last := full.Totals.TypedBytes
	for _, limit := range []int{2000, 500, 50, -1} {
		res := report(limit)
		want := full.Totals
		want.TypedBytes = res.Totals.TypedBytes
		require.Equal(t, want, res.Totals, "limit %d", limit)
		require.Less(t, res.Totals.TypedBytes, last, "limit %d", limit)
		last = res.Totals.TypedBytes
		n, depth, bytes := size(res.Roots, 0)
		require.Equal(t, full.Totals.AttributedBytes, bytes)
		require.LessOrEqual(t, n-len(res.Roots), max(limit, 0)/16+1)
		require.LessOrEqual(t, depth*depth/2, max(limit, 0)+32)
		require.Contains(t, strings.Join(res.Warnings, "\n"), "what lies deeper than it goes")
		require.Equal(t, res, report(limit), "the report is the same each time")
	}
}

// size counts nodes, levels and bytes.
func size(nodes []*attribute.Node, level int) (n, depth int, bytes int64) {
	depth = level
	for _, c := range nodes {
		below, deepest, b := size(c.Children, level+1)
		n += 1 + below
		depth = max(depth, deepest)
		bytes += c.Bytes + b
	}
	return n, depth, bytes
}
