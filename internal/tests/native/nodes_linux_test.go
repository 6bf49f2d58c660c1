//go:build cgo && linux && (amd64 || arm64)

package native

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/leakcheck"
	"github.com/leakgate/leakgate/refscan"
)

// nativeNodes sums the native blocks of a report, by path.
func nativeNodes(nodes []*refscan.Node, above string, sums map[string]int64) {
	for _, n := range nodes {
		path := above + n.Name
		if n.Type == "native block" {
			sums[path] += n.Objects
		}
		nativeNodes(n.Children, path+" ", sums)
	}
}

// TestNodes compares the nodes of an artifact with a walk through the graph of blocks itself:
// blocks that C variables lead to, and blocks that nothing leads to.
func TestNodes(t *testing.T) {
	const nodes, few, heads = 1000, 4, 3
	rng := rand.New(rand.NewPCG(7, 7))
	makeGraph(nodes)
	defer freeGraph()
	edges := make([][]int, nodes)
	for from := range nodes {
		for way := range ways {
			if to := rng.IntN(nodes); rng.IntN(3) > 0 {
				link(from, way, to, rng.IntN(blockSize))
				edges[from] = append(edges[from], to)
			}
		}
	}
	reached := make(map[int]bool)
	var walk func(at int)
	walk = func(at int) {
		if !reached[at] {
			reached[at] = true
			for _, to := range edges[at] {
				walk(to)
			}
		}
	}
	for i := range maxHeads {
		to := -1
		if i < heads {
			to = rng.IntN(nodes)
			walk(to)
		}
		setHead(i, to)
	}

	dir := t.TempDir()
	t.Setenv("LEAKGATE_ARTIFACTS", dir)
	r := &recorder{TB: t}
	require.False(t, leakcheck.AssertRetained(r, leakcheck.NativeMemory().Max(1)))
	require.Contains(t, r.text.String(), "profile: go tool pprof")
	found, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*", "*", "*", "TestNodes", "1", "report.json"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	text, err := os.ReadFile(found[0])
	require.NoError(t, err)
	var report refscan.Report
	require.NoError(t, json.Unmarshal(text, &report))
	require.Empty(t, report.Warnings)
	sums := make(map[string]int64)
	nativeNodes(report.Roots, "", sums)
	// Words that C left in a register or on a stack may be addresses of blocks, which are then
	// found from there.
	require.LessOrEqual(t, sums["C.heads"], int64(len(reached)), "%v", sums)
	require.GreaterOrEqual(t, sums["C.heads"], int64(len(reached))-few, "%v", sums)
	lost := int64(nodes - len(reached))
	require.GreaterOrEqual(t, sums["lost"], lost-few, "%v", sums)
	var all int64
	for _, n := range sums {
		all += n
	}
	require.GreaterOrEqual(t, all, int64(nodes))
	t.Logf("of %d blocks %d are below C.heads, %d lost: %v", nodes, len(reached), lost, sums)
}
