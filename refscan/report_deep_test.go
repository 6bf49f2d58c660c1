package refscan_test

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// The deepest report that a scan makes (see maxTree in package attribute) and a wide one can be
// folded, summed, written as profiles, and read back from JSON.
func TestLargestReports(t *testing.T) {
	const deepest, widest = 4096, 1 << 16
	leaf := &refscan.Node{Name: "leaf", Figures: refscan.Figures{Objects: 1, Bytes: 8}}
	deep := leaf
	for i := range deepest - 2 {
		// Elements, so that folding has something to merge on each level.
		deep = &refscan.Node{
			Name: fmt.Sprintf("[%d]", i%10), Type: "[]interface {}", Figures: refscan.Figures{Objects: 1, Bytes: 16},
			Children: []*refscan.Node{deep, {Name: fmt.Sprintf("[%d]", (i+1)%10), Type: "*int", Figures: refscan.Figures{Objects: 1, Bytes: 8}}},
		}
	}
	wide := &refscan.Node{Name: "example.com/app.wide", Root: &refscan.RootInfo{Kind: refscan.RootGlobal}}
	for i := range widest {
		wide.Children = append(wide.Children, &refscan.Node{Name: "f" + fmt.Sprint(i), Type: "*int", Figures: refscan.Figures{Objects: 1, Bytes: 8}})
	}
	r := &refscan.Report{Roots: []*refscan.Node{
		{Name: "example.com/app.deep", Root: &refscan.RootInfo{Kind: refscan.RootGlobal}, Children: []*refscan.Node{deep}}, wide,
	}}
	objects, bytes := r.Roots[0].Total()
	require.EqualValues(t, 2*(deepest-2)+1, objects)

	f := r.Fold()
	foldedObjects, foldedBytes := f.Roots[0].Total()
	require.Equal(t, objects, foldedObjects)
	require.Equal(t, bytes, foldedBytes)
	objects, _ = f.Roots[1].Total()
	require.EqualValues(t, widest, objects)
	require.NoError(t, r.WriteProfile(io.Discard))

	b, err := json.Marshal(r)
	require.NoError(t, err)
	var back refscan.Report
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, r.Roots[0].Children[0].Children[1], back.Roots[0].Children[0].Children[1])
}
