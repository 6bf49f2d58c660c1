package attribute

import (
	"github.com/leakgate/leakgate/internal/engine/root"
	"github.com/leakgate/leakgate/internal/engine/typedheap"
)

// Totals are sums over heap objects, in size-class bytes. The tool's own objects are in none.
type Totals struct {
	typedheap.Totals
	TypedBytes int64
}

// Result is a finished account.
type Result struct {
	Roots    []*Node
	Totals   Totals
	Warnings []string

	// objects whose type is not certain; nil if there was debug information
	Uncertain map[Shape]int64
}

// A Watcher is told of every charge, and lists the node made for each root.
type Watcher struct {
	Roots  []RootNode
	Charge func(*Node, Claim)
	Skip   func(*root.Root) bool // leaves out roots; nil: none
	Cut    []uint32              // objects that are left out
	Tiny   *TinyTable            // in the end
}

// A RootNode is the node that was made for a root.
type RootNode struct {
	Entry *root.Entry
	Node  *Node
}

// A Claim is what a node is charged with at once.
type Claim struct {
	Kind           Kind
	Obj            uint32
	Off            uint8 // of a small value in its block
	Objects, Bytes int64
	Untyped        bool // it is not of its node's type, but held by an object that is
}

// Charged is told which object is charged to which node. Of small values that share a block it is told
// the first, with the block's number: the allocation of a block is that of its first value, and what
// is allocated in the rest of it later is no allocation to the memory profiler (go1.26
// runtime/malloc.go, mallocgcTiny).
type Charged func(n *Node, obj uint32, bytes int64)

// Claim tells of objects that a reference led to.
func (c Charged) Claim(n *Node, what Claim) {
	if what.Kind == KindObject || what.Kind == KindTiny && what.Off == 0 {
		c(n, what.Obj, what.Bytes)
	}
}

// A Shape is what is known of an object whose type is not certain.
type Shape struct {
	Size uint64 // of its size class
	Mask uint64 // a bit a word: a pointer
	// address of the descriptor of the type of a reference to it, 0 if there is none that accounts
	// for its pointers
	Type uint64
}

// LargestMask is the size up to which objects have pointer masks in shapes. Larger ones with
// pointers carry their type.
const LargestMask = 64 * 8
