package heapgraph

// Elsewhere finds out who else leads to objects that are charged to some nodes. It attributes twice: is tells the nodes
// whose objects are meant; then their roots are left out, and found is told which other node each of these objects
// is charged to. What only unnamed stack slots, finalizers, or data that the compiler made lead to is not told, since
// it goes when the roots do, nor are values that share a block.
func (g *Graph) Elsewhere(is func(*Node) bool, found func(n *Node, bytes int64)) {
	meant := newBitset(g.m.NumObjects)
	var roots []*Root
	isOfNodes := func(r *Root) bool {
		for _, root := range roots {
			if r.alike(root) {
				return true
			}
		}
		return false
	}
	g.attribute(&watcher{charge: Charged(func(n *Node, obj uint32, _ int64) {
		if is(n) && !g.m.SpanOf(obj).Tiny {
			meant.add(obj)
			if root := n.Top().Root; !isOfNodes(root) {
				roots = append(roots, root)
			}
		}
	}).claim})
	if len(roots) > 0 {
		g.attribute(&watcher{skip: isOfNodes, charge: Charged(func(n *Node, obj uint32, bytes int64) {
			if meant.has(obj) && n.Top().Root.isHolder() {
				found(n, bytes)
			}
		}).claim})
	}
}

// alike reports whether roots are one variable, or variables of goroutines of one origin: copies of references lie about
// in their frames.
func (a *Root) alike(b *Root) bool {
	if a.Kind != b.Kind || a.Kind != KindFrame {
		return a.Kind == b.Kind && a.Name == b.Name
	}
	return a.Goroutine == b.Goroutine && a.CreatedAt == b.CreatedAt
}

// isHolder reports whether clearing other roots leaves this one as it is: variables do, and the runtime's own, such as its
// timers.
func (a *Root) isHolder() bool {
	return a.class == classNamed || a.class == classRuntime && a.Kind != KindFrame && isRuntime(a.Package) && a.Name != unnamedData
}
