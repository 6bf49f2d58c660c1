package attribute

import (
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
)

// Result is the outcome of Run.
type Result struct {
	Roots    []*Node
	Totals   typedheap.Totals // the tool's own objects are in none
	Warnings []string
}

// A Watcher receives every claim, and the node made for each root.
type Watcher struct {
	Roots  []RootNode
	Charge func(*Node, Claim)
	Skip   func(*root.Root) bool // leaves out roots; nil: none
	Cut    []uint32              // objects that are left out
	Tiny   *TinyTable            // set when Run returns
}

// A RootNode is the node that was made for a root.
type RootNode struct {
	Entry *root.Entry
	Node  *Node
}

// A Claim is one charge to a node: an object, a small value, or entries of a map.
type Claim struct {
	Kind           Kind
	Obj            uint32
	Off            uint8 // of a small value in its block
	Objects, Bytes int64
	Untyped        bool // the object is not of its node's type, but an object of that type holds it
}

// Charged is called with each object and the node that it is charged to, and with the blocks that
// belong to an object, such as the tables of a map, with objects 0. Of small values that share a
// block it receives only the first, with the block's number: the allocation of a block is that of
// its first value, and the memory profiler does not see later allocations in the rest of the block
// (go1.26 runtime/malloc.go, mallocgcTiny).
type Charged func(n *Node, obj uint32, objects, bytes int64)

// Claim calls c if a claim is of an object or a part of one, or of the first value in a block of
// the tiny allocator.
func (c Charged) Claim(n *Node, what Claim) {
	switch {
	case what.Kind == KindPart:
		c(n, what.Obj, 0, what.Bytes)
	case what.Kind == KindObject || what.Kind == KindTiny && what.Off == 0:
		c(n, what.Obj, 1, what.Bytes)
	}
}
