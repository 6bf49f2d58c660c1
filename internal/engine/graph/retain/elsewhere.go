package retain

import (
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/symbol"
)

// Elsewhere finds other holders of the objects that are charged to the nodes for which is returns
// true. It attributes twice. The second attribution leaves out the containers of these objects: the
// objects of the nearest node above that has any, or else the roots. found receives the node that
// each object is then charged to. Objects that only unnamed stack slots, finalizers, or
// compiler-made data lead to are not reported, since they go when the containers do. Nor are values
// that share a block.
//
// Leaving out the containers and not their roots makes a difference if several roots lead to one
// container: code that takes an object out of the container need not care about these roots.
//
// part is the part of the tree that the nodes belong to; nil: they are nodes of the whole tree.
// each receives the objects before any is found.
func Elsewhere(
	h *typedheap.Heap, program root.Program, part *attribute.Part, is func(*attribute.Node) bool, each func(obj uint32), found func(n *attribute.Node, bytes int64),
) {
	_, r := run(h, program, nil, part)
	defer r.Release()
	const isMeant, isContainer = 1, 2
	marks := make([]byte, len(r.nodes)+1) // by a node's number
	var roots []*root.Root
	for i, n := range r.nodes {
		if !is(n) {
			continue
		}
		marks[i+1] |= isMeant
		above := n.Parent()
		for above != nil && above.Objects == 0 {
			above = above.Parent()
		}
		if above != nil {
			marks[r.numberOf(above)] |= isContainer
		} else {
			roots = append(roots, n.Top().Root)
		}
	}
	meant := objset.New(h.Model.NumObjects)
	watch := &attribute.Watcher{Skip: func(r *root.Root) bool {
		for _, root := range roots {
			if r.Kind == root.Kind && r.Name == root.Name {
				return true
			}
		}
		return false
	}}
	for obj := range h.Model.NumObjects {
		switch mark := marks[r.charged[obj]]; {
		case mark&isContainer != 0:
			watch.Cut = append(watch.Cut, obj)
		case mark&isMeant != 0:
			meant.Add(obj)
			each(obj)
		}
	}
	watch.Charge = attribute.Charged(func(n *attribute.Node, obj uint32, _, bytes int64) {
		if meant.Has(obj) && isHolder(n.Top().Root) {
			found(n, bytes)
		}
	}).Claim
	attribute.Run(h, program, attribute.Options{Watch: watch})
}

// isHolder reports whether a root stays when others are cleared: variables, timers and the
// runtime's own roots do.
func isHolder(a *root.Root) bool {
	return a.Class <= root.ClassLeftOut || a.Class == root.ClassTimer || a.Class == root.ClassRuntime && a.Kind != root.KindFrame && symbol.IsRuntime(a.Package) && a.Name != symbol.UnnamedData
}
