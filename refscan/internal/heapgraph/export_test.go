package heapgraph

// LimitTree sets the bound of the report's tree.
func (g *Graph) LimitTree(n int) { g.maxTree = n }

// SetTaskSize sets how many objects a goroutine gathers from at a time.
func (g *Graph) SetTaskSize(n int) { g.taskSize = n }

// SetPortions sets how large portions of arrays and of maps' directories are, and returns a function that sets them back.
func SetPortions(array, directory uint64) func() {
	oldArray, oldDirectory := arrayPortion, directoryPortion
	arrayPortion, directoryPortion = array, directory
	return func() { arrayPortion, directoryPortion = oldArray, oldDirectory }
}
