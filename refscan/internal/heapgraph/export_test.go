package heapgraph

// LimitTree sets the bound of the report's tree.
func (g *Graph) LimitTree(n int) { g.maxTree = n }
