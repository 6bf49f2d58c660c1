package heapgraph

// Elsewhere finds out who else leads to objects that are charged to some nodes. It attributes twice: is tells the nodes
// whose objects are meant; then the objects that they hang on are left out (their containers: those of the nearest node above
// that has some, or else the roots), and found is told which other node each of the objects that are meant is charged to. What only unnamed stack
// slots, finalizers, or data that the compiler made lead to is not told, since it goes when the containers do, nor
// are values that share a block.
//
// Leaving out the containers and not their roots makes a difference where several roots lead to one container: whoever takes
// an object out of it need not care about these.
func (g *Graph) Elsewhere(is func(*Node) bool, found func(n *Node, bytes int64)) {
	_, r := g.AttributeRetained(nil)
	defer r.Release()
	const isMeant, isContainer = 1, 2
	marks := make([]byte, len(r.nodes)+1) // by a node's number
	var roots []*Root
	for i, n := range r.nodes {
		if !is(n) {
			continue
		}
		marks[i+1] |= isMeant
		above := n.parent
		for above != nil && above.Objects == 0 {
			above = above.parent
		}
		if above != nil {
			marks[r.numberOf(above)] |= isContainer
		} else {
			roots = append(roots, n.Top().Root)
		}
	}
	meant := newBitset(g.m.NumObjects)
	watch := &watcher{skip: func(r *Root) bool {
		for _, root := range roots {
			if r.Kind == root.Kind && r.Name == root.Name {
				return true
			}
		}
		return false
	}}
	for obj := range g.m.NumObjects {
		switch mark := marks[r.charged[obj]]; {
		case mark&isContainer != 0:
			watch.cut = append(watch.cut, obj)
		case mark&isMeant != 0:
			meant.add(obj)
		}
	}
	watch.charge = Charged(func(n *Node, obj uint32, bytes int64) {
		if meant.has(obj) && n.Top().Root.isHolder() {
			found(n, bytes)
		}
	}).claim
	g.attribute(watch)
}

// isHolder reports whether clearing something else leaves a root as it is: variables do, and the runtime's own, such as its
// timers.
func (a *Root) isHolder() bool {
	return a.class == classNamed || a.class == classRuntime && a.Kind != KindFrame && isRuntime(a.Package) && a.Name != unnamedData
}
