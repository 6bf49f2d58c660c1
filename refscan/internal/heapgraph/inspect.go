package heapgraph

// What judges ask in tests, object by object.

// Reached reports whether the marking reached an object.
func (g *Graph) Reached(obj uint32) bool { return g.marked.has(obj) }

// ChargedTo returns the node that an object is charged to, nil if it is charged to none, or to
// several.
func (r *Retention) ChargedTo(obj uint32) *Node {
	if i := r.charged[obj]; i != 0 {
		return r.nodes[i-1]
	}
	return nil
}

// Parent returns the node whose references lead to those of n, nil for roots.
func (n *Node) Parent() *Node { return n.parent }

// Top returns the root node at the start of the path of a node.
func (n *Node) Top() *Node {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// Unexplained is how many objects RetainedBy did not reach from the roots as the report has them. They
// count as retained by their own node alone.
func (r *Retention) Unexplained() int64 { return r.rest }
