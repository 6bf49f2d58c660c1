package attribute

import (
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
)

// attributor charges objects to nodes, breadth first: level by level, and in a level node by node.
// It first gathers the references of a stretch of nodes; then each node claims its own targets.
type attributor struct {
	heap      *typedheap.Heap
	options   Options
	ended     *typing.Endings
	unclaimed objset.Set // marked, and not claimed
	tool      objset.Set // claimed for the tool itself
	tiny      TinyTable
	phase     root.Class
	seq       int
	nodes     []*Node // root nodes in order
	classes   *root.Classes
	deferred  map[root.Class][]uint32 // objects that a later class claims
	size      int                     // of the tree, see maxTree
	level     frontier                // objects whose references are followed
	next      frontier                // their targets
	sorter    objset.Set              // see frontier.add
	gather    gathering
	groups    []group
	groupAt   []int32 // by type: index of its first group; stale unless that group has the type
	partials  partials
	labels    []string // of the references of the current root
	watch     *Watcher // nil unless the caller wants every claim
	order     root.Order
	selects   bool // nodes are selected, or left out
	late      []lateClaim
	paths     Paths
}
