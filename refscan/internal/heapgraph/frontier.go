package heapgraph

import (
	"math/bits"

	"github.com/leakgate/leakgate/refscan/internal/offheap"
)

// A frontier is a list of objects with pointers, claimed and not looked into yet.
type frontier struct {
	runs  []run
	words offheap.Numbers
}

// A run is some objects that one node was charged with.
type run struct {
	node  *Node
	objs  []uint32
	guest bool // they are of another type than the node's others: the tree had no room for a node of their own
}

// add queues objects. Where they are many it is in the order of memory, in which they are walked soonest; sorter is an empty set, and is
// so again.
func (f *frontier) add(n *Node, lists [][]uint32, guest bool, sorter bitset) {
	total := 0
	for _, objs := range lists {
		total += len(objs)
	}
	lo, hi := ^uint32(0), uint32(0)
	if total >= minSorted {
		for _, objs := range lists {
			for _, obj := range objs {
				lo, hi = min(lo, obj), max(hi, obj)
			}
		}
	}
	if total < minSorted || int(hi-lo)/64 > 4*total {
		for _, objs := range lists {
			words := f.words.Take(len(objs))
			copy(words, objs)
			f.runs = append(f.runs, run{n, words, guest})
		}
		return
	}
	for _, objs := range lists {
		for _, obj := range objs {
			sorter.add(obj)
		}
	}
	words := f.words.Take(min(total, offheap.BlockLen))[:0]
	for i := lo >> 6; i <= hi>>6; i++ {
		for b := sorter[i]; b != 0; b &= b - 1 {
			if len(words) == cap(words) {
				f.runs = append(f.runs, run{n, words, guest})
				total -= len(words)
				words = f.words.Take(min(total, offheap.BlockLen))[:0]
			}
			words = append(words, i<<6+uint32(bits.TrailingZeros64(b)))
		}
		sorter[i] = 0
	}
	f.runs = append(f.runs, run{n, words, guest})
}

// minSorted is how many objects are worth sorting.
const minSorted = 1 << 10

func (f *frontier) reset() {
	clear(f.runs)
	f.runs = f.runs[:0]
	f.words.Reset()
}
