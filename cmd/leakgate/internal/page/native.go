package page

import (
	"slices"

	"github.com/leakgate/leakgate/internal/nodename"
	"github.com/leakgate/leakgate/refscan"
)

// hasNative reports whether there are native blocks among nodes.
func hasNative(nodes []*refscan.Node) bool {
	return slices.ContainsFunc(nodes, func(n *refscan.Node) bool { return n.Type == nodename.NativeBlock || hasNative(n.Children) })
}

// splitNative makes two reports of one: without native blocks, and with the paths to them alone.
func splitNative(r *refscan.Report) (rest, native *refscan.Report) {
	with, without := *r, *r
	with.Roots, with.Types = pick(r.Roots, true), nil
	without.Roots = pick(r.Roots, false)
	return &without, &with
}

// pick copies the nodes that are native blocks, with those above them, which have no figures of their
// own in the copy; or all other nodes.
func pick(nodes []*refscan.Node, native bool) (picked []*refscan.Node) {
	for _, n := range nodes {
		is := n.Type == nodename.NativeBlock
		c := *n
		c.Children = pick(n.Children, native)
		switch {
		case native && !is && len(c.Children) > 0:
			picked = append(picked, &refscan.Node{Name: n.Name, Type: n.Type, Root: n.Root, Children: c.Children})
		case is == native && (is || n.Objects|n.Bytes != 0 || len(c.Children) > 0 || len(n.Children) == 0):
			picked = append(picked, &c)
		}
	}
	return picked
}
