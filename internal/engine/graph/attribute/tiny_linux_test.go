package attribute_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A block of the tiny allocator that values of the tool share with values of the program counts as
// the program's: the report adds up to the totals, whichever package is the tool.
func TestSharedWithTheTool(t *testing.T) {
	graph := graphs(t)
	for _, tool := range []string{"main", "os"} {
		h := graph()
		both := make(map[uint32][2]int) // by block: values of the program, of the tool
		record := func(n *attribute.Node, c attribute.Claim) {
			if c.Kind == attribute.KindTiny {
				k := both[c.Obj]
				if n.Top().Root.Class.IsTool() {
					k[1]++
				} else {
					k[0]++
				}
				both[c.Obj] = k
			}
		}
		res := attribute.Run(h, root.Program{IsTool: func(pkg string) bool { return pkg == tool }}, attribute.Options{Watch: &attribute.Watcher{Charge: record}})
		shared := 0
		for _, k := range both {
			if k[0] > 0 && k[1] > 0 {
				shared++
			}
		}
		require.Greater(t, shared, 10, "blocks that package %s shares", tool)
		_, _, bytes := size(res.Roots, 0)
		require.Equal(t, res.Totals.AttributedBytes, bytes, "package %s", tool)
	}
}
