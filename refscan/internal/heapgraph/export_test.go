package heapgraph

// LimitTree sets the bound of the report's tree.
func (g *Graph) LimitTree(n int) { g.maxTree = n }

// SetTaskSize sets how many objects a goroutine gathers from at a time.
func (g *Graph) SetTaskSize(n int) { g.taskSize = n }
