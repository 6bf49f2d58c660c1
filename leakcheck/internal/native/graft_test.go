package native

import (
	"encoding/json"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// Native blocks come below the root with the same name, type and goroutine. Nothing else changes.
func TestGraft(t *testing.T) {
	frame := func(createdAt string) *refscan.Node {
		return &refscan.Node{Name: "app.Run.buf", Type: "*app.Buf", Figures: refscan.Figures{Objects: 1, Bytes: 16}, Root: &refscan.RootInfo{Kind: refscan.RootFrame, Package: "app", CreatedAt: createdAt}}
	}
	r := &refscan.Report{Roots: []*refscan.Node{
		{Name: "app.pools", Type: "[]*app.pool", Figures: refscan.Figures{Objects: 1, Bytes: 8}, Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "app"}},
		frame("a.go:1"), frame("a.go:2"),
	}}
	before, err := json.Marshal(r)
	require.NoError(t, err)
	node := &attribute.Node{Name: "app.Run.buf", Type: "*app.Buf", Root: &root.Root{Kind: root.KindFrame, Package: "app", CreatedAt: "a.go:2"}}
	gone := &attribute.Node{Name: "app.gone", Root: &root.Root{Package: "app"}}
	blocks := func(p nativeholders.Place, n int64) nativeholders.Blocks {
		return nativeholders.Blocks{Place: p, Name: "app." + p.Variable + p.Label, Sum: nativeholders.Sum{Blocks: n, Bytes: 100 * n}}
	}
	all := []nativeholders.Blocks{
		blocks(nativeholders.Place{Node: node, Label: "c"}, 1),
		blocks(nativeholders.Place{Node: node}, 2),
		blocks(nativeholders.Place{Node: gone, Label: "gone[*].x"}, 3),
		blocks(nativeholders.Place{Variable: "app.pools", Label: "first"}, 4),
		blocks(nativeholders.Place{Variable: "app.state", Label: "handle"}, 5),
		blocks(nativeholders.Place{Variable: "app.handle"}, 6),
		blocks(nativeholders.Place{Kind: nativeholders.Variable, Variable: "cache", File: "libfoo.so.1.2"}, 7),
		blocks(nativeholders.Place{Kind: nativeholders.Variable, File: "libfoo.so.1.2"}, 8),
		blocks(nativeholders.Place{Kind: nativeholders.Variable, Variable: "initial", File: "libc.so.6"}, 9),
		blocks(nativeholders.Place{Kind: nativeholders.Frame, Variable: "Run"}, 10),
		blocks(nativeholders.Place{Kind: nativeholders.Thread}, 11),
		blocks(nativeholders.Place{Kind: nativeholders.Mapping}, 12),
		blocks(nativeholders.Place{Kind: nativeholders.Mapping, Variable: "nothing"}, 0),
	}
	found := &nativeholders.Result{Everything: all, AllLost: nativeholders.Sum{Blocks: 13, Bytes: 1300}}
	got := (&Answer{Found: found}).In(r)

	after, err := json.Marshal(r)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	sums := make(map[string]int64)
	packages := make(map[string]string)
	var goObjects, bytes int64
	var visit func(nodes []*refscan.Node, path, pkg string)
	visit = func(nodes []*refscan.Node, path, pkg string) {
		for _, n := range nodes {
			at := symbol.JoinPath(path, n.Name)
			if n.Root != nil {
				pkg = n.Root.Package
				at += n.Root.CreatedAt
			}
			if n.Type == symbol.NativeBlock {
				sums[at] += n.Objects
				bytes += n.Bytes
				packages[at] = pkg
			} else {
				goObjects += n.Objects
			}
			visit(n.Children, at, pkg)
		}
	}
	visit(got.Roots, "", "")
	assert.Equal(t, map[string]int64{
		"app.Run.bufa.go:2.c": 1, "app.Run.bufa.go:2.*": 2, "app.gone[*].x": 3, "app.pools.first": 4, "app.state.handle": 5, "app.handle": 6,
		"libfoo.so:cache": 7, "libfoo.so": 8, "libc.so:initial": 9, "app.Run": 10, "threads": 11, "mapped memory": 12, "lost": 13,
	}, sums)
	assert.Equal(t, int64(91*100), bytes)
	assert.Equal(t, int64(3), goObjects)
	for path, pkg := range map[string]string{"app.state.handle": "app", "libfoo.so:cache": "C", "lost": "C", "libc.so:initial": "", "threads": "", "mapped memory": "", "app.Run": ""} {
		assert.Equal(t, pkg, packages[path], path)
	}
}
