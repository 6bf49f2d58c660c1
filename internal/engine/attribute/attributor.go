package attribute

import (
	"github.com/leakgate/leakgate/internal/engine/ended"
	"github.com/leakgate/leakgate/internal/engine/objset"
	"github.com/leakgate/leakgate/internal/engine/root"
	"github.com/leakgate/leakgate/internal/engine/typedheap"
)

// attributor charges objects to nodes, breadth first: level by level, and in a level node by node.
// The references of a stretch of nodes are gathered first, and then each node claims what its own
// lead to.
type attributor struct {
	heap     *typedheap.Heap
	options  Options
	ended    *ended.Detector
	open     objset.Set // marked, and not claimed
	tool     objset.Set // claimed for the tool itself
	tiny     TinyTable
	phase    root.Class
	seq      int
	nodes    []*Node // root nodes in order
	classes  *root.Classes
	later    map[root.Class][]uint32 // objects whose turn comes later
	size     int                     // of the tree, see maxTree
	level    frontier                // whose references are followed
	next     frontier                // what they led to
	sorter   objset.Set              // see frontier.add
	gather   gathering
	groups   []group
	partials partials
	labels   []string // of the references of the root that has its turn
	watch    *Watcher // nil unless somebody wants to know what is charged to whom
}
