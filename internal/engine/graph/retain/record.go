package retain

import (
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
)

// Retained says what a set of nodes of a report keeps alive, in the counts and bytes of the
// attribution.
type Retained struct {
	// Objects that nothing but the set keeps: each path from the roots leads through an object that
	// is charged to one of its nodes, or through the variable, for nodes that are roots.
	Objects, Bytes int64
	// Objects charged to the nodes and below them that something else keeps, too.
	SharedObjects, SharedBytes int64
	// Objects charged to the nodes themselves that nothing but the root on their path keeps.
	RootObjects, RootBytes int64
}

// Held is what Find found for a node.
func (r *Result) Held(n *attribute.Node) Retained { return r.heldBy[n] }

// Result is a record of which node each object was charged to.
type Result struct {
	heap   *typedheap.Heap
	result *attribute.Result
	nodes  []*attribute.Node
	number map[*attribute.Node]uint32 // 1 + index in nodes
	last   uint32                     // the number that numberOf returned last
	// by object, then by anonymous static data: the node's number, 0 if it is charged to none
	charged []uint32
	parts   objset.Set // objects that cost bytes but do not count
	// objects and anonymous static data that are not of their node's type
	untyped objset.Set
	small   smallValues
	tiny    *attribute.TinyTable
	entries []mapEntries
	roots   []attribute.RootNode
	heldBy  map[*attribute.Node]Retained // by Find
	graph   *graph                       // nil until it is needed
	rest    int64                        // objects that no root of the report reaches
}

// A smallValue is a value in a block of the tiny allocator.
type smallValue struct {
	node, obj  uint32
	off, bytes uint8
	untyped    bool
	more       bool // further bytes of a value that was claimed before
}

// smallValues is a list in blocks, so that growing does not copy it.
type smallValues struct {
	blocks []*[smallBlock]smallValue
	n      uint32
}

const smallBlock = 1 << 12

func (l *smallValues) add(v smallValue) {
	if l.n%smallBlock == 0 {
		l.blocks = append(l.blocks, new([smallBlock]smallValue))
	}
	l.n++
	*l.at(l.n - 1) = v
}

func (l *smallValues) at(i uint32) *smallValue { return &l.blocks[i/smallBlock][i%smallBlock] }

// mapEntries are entries that a map's tables hold whole. They count at a child of the map's node.
type mapEntries struct {
	obj  uint32 // the map
	node *attribute.Node
	n    int64
}

func (r *Result) charge(n *attribute.Node, c attribute.Claim) {
	switch c.Kind {
	case attribute.KindEntries:
		r.entries = append(r.entries, mapEntries{c.Obj, n, c.Objects})
	case attribute.KindTiny:
		r.small.add(smallValue{r.numberOf(n), c.Obj, c.Off, uint8(c.Bytes), c.Untyped, c.Objects == 0})
	default:
		r.charged[c.Obj] = r.numberOf(n)
		if c.Kind == attribute.KindPart {
			r.parts.Add(c.Obj)
		}
		if c.Untyped {
			r.untyped.Add(c.Obj)
		}
	}
}

func (r *Result) numberOf(n *attribute.Node) uint32 {
	if r.last > 0 && r.nodes[r.last-1] == n {
		return r.last // charges of one node come in a row
	}
	i, ok := r.number[n]
	if !ok {
		r.nodes = append(r.nodes, n)
		i = uint32(len(r.nodes))
		r.number[n] = i
	}
	r.last = i
	return i
}

// nodesOf lists by number which nodes belong to roots of certain classes.
func (r *Result) nodesOf(is func(root.Class) bool) []bool {
	of := make([]bool, len(r.nodes)+1)
	for i, n := range r.nodes {
		of[i+1] = is(n.Top().Root.Class)
	}
	return of
}

// isTool reports whether a node is one of the tool's own.
func isTool(n *attribute.Node) bool { return n.Top().Root.Class.IsTool() }

// ChargedTo returns the node that an object is charged to, nil if it is charged to none, or to
// several.
func (r *Result) ChargedTo(obj uint32) *attribute.Node {
	if i := r.charged[obj]; i != 0 {
		return r.nodes[i-1]
	}
	return nil
}

// Unexplained is how many objects Find did not reach from the roots of the report. They count as
// retained by their own node alone.
func (r *Result) Unexplained() int64 { return r.rest }
