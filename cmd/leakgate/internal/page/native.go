package page

import (
	"slices"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan"
)

// hasNative reports whether there are native blocks among nodes.
func hasNative(nodes []*refscan.Node) bool {
	return slices.ContainsFunc(nodes, func(n *refscan.Node) bool { return n.Type == symbol.NativeBlock || hasNative(n.Children) })
}

// splitNative splits a report in two: one without native blocks, and one with only the paths to
// native blocks.
func splitNative(r *refscan.Report) (rest, native *refscan.Report) {
	with, without := *r, *r
	with.Roots, with.Types = filterNative(r.Roots, true), nil
	without.Roots = filterNative(r.Roots, false)
	return &without, &with
}

// filterNative copies the nodes of native blocks and the nodes above them, without the figures of
// the latter; or, if native is false, all other nodes.
func filterNative(nodes []*refscan.Node, native bool) (picked []*refscan.Node) {
	for _, n := range nodes {
		is := n.Type == symbol.NativeBlock
		c := *n
		c.Children = filterNative(n.Children, native)
		switch {
		case native && !is && len(c.Children) > 0:
			picked = append(picked, &refscan.Node{Name: n.Name, Type: n.Type, Root: n.Root, Children: c.Children})
		case is == native && (is || n.Objects|n.Bytes != 0 || len(c.Children) > 0 || len(n.Children) == 0):
			picked = append(picked, &c)
		}
	}
	return picked
}
