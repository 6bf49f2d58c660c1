package shop

// A Node of a binary tree knows its parent.
type Node struct {
	Key                 int
	Left, Right, Parent *Node
	Srv                 *Server
}

// Grow makes a balanced tree of the keys from low to before high.
func Grow(low, high int, parent *Node, each func(*Node)) *Node {
	if low >= high {
		return nil
	}
	mid := (low + high) / 2
	n := &Node{Key: mid, Parent: parent}
	each(n)
	n.Left, n.Right = Grow(low, mid, n, each), Grow(mid+1, high, n, each)
	return n
}

// A Mark refers to a node of a tree.
type Mark struct{ At *Node }

var (
	Tree      *Node
	ByKey     map[int]*Node
	Marks     map[string]*Mark
	Bookmarks []*Node
)

func resetTrees() { Tree, ByKey, Marks, Bookmarks = nil, map[int]*Node{}, map[string]*Mark{}, nil }
