package attribute

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
)

// A frontier is a list of claimed objects with pointers whose references are not followed yet.
type frontier struct {
	runs  []run
	words offheap.Numbers
}

// A run is some objects that are charged to one node.
type run struct {
	node *Node
	objs []uint32
	// their type is not the node's: the tree had no room for a node of their own
	typeless bool
}

// add queues objects. It sorts long lists by address, since the processor reads memory sooner in
// this order. sorter is a set of objects, which is empty before and after the call.
//
//go:norace
func (f *frontier) add(n *Node, lists [][]uint32, typeless bool, sorter objset.Set) {
	total := 0
	lo, hi := ^uint32(0), uint32(0)
	for _, objs := range lists {
		total += len(objs)
		for _, obj := range objs {
			lo, hi = min(lo, obj), max(hi, obj)
		}
	}
	if total < minSorted || int(hi-lo)/64 > 4*total {
		for _, objs := range lists {
			copy(f.take(n, len(objs), typeless), objs)
		}
		return
	}
	for _, objs := range lists {
		for _, obj := range objs {
			sorter.Add(obj)
		}
	}
	var words []uint32
	for i := lo >> 6; i <= hi>>6; i++ {
		for left := sorter[i]; left != 0; left &= left - 1 {
			if len(words) == 0 {
				words = f.take(n, min(total, offheap.BlockLen), typeless)
				total -= len(words)
			}
			words[0] = i<<6 + uint32(bits.TrailingZeros64(left))
			words = words[1:]
		}
		sorter[i] = 0
	}
}

// take makes room for some objects of a node.
func (f *frontier) take(n *Node, objects int, typeless bool) []uint32 {
	words := f.words.Take(objects)
	f.runs = append(f.runs, run{n, words, typeless})
	return words
}

// minSorted is how many objects are worth sorting.
const minSorted = 1 << 10

func (f *frontier) reset() {
	clear(f.runs)
	f.runs = f.runs[:0]
	f.words.Reset()
}
