package attribute

import (
	"strings"

	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
)

// Node is a root, or the objects that one kind of reference of its parent's objects leads to.
type Node struct {
	Name string
	Type string
	Figures
	EndedState string // of those that are Ended: "closed"
	// the path from one of its objects to the next, where recursive types fold; "" if none do
	Recursion  string
	Root       *root.Root // of root nodes
	Goroutines int64
	Pending    root.Pending // of roots that are timers
	Children   []*Node

	parent   *Node
	typing   typing.Typing // of its objects; Type 0 for roots without objects of their own
	kids     map[childKey]*Node
	links    []link // some of kids, by number of the reference, so that no label is needed
	seq      int
	at       int // while parts are sorted, see gathering.portions
	depth    int32
	unsure   bool      // some array of Len is held in whole by a reference found later
	selected Selection // see selectNode
	leftOut  bool
	ownTyped bool // Type and typing are those of objects that the root variable refers to
}

type childKey struct {
	label  string
	typ    int32
	layout heaptype.Layout
}

// A link leads to the child for targets of a type behind one reference.
type link struct {
	ref    uint32
	typ    int32
	layout heaptype.Layout
	child  *Node
}

// maxLinks bounds Node.links, which are searched one by one.
const maxLinks = 8

// Parent returns the node whose references lead to those of n, nil for roots.
func (n *Node) Parent() *Node { return n.parent }

// Top returns the root node at the start of the path of a node.
func (n *Node) Top() *Node {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// MapEntries returns the node of the entries that the tables of n's maps hold whole, nil if there
// is none.
func (n *Node) MapEntries() *Node { return n.kids[childKey{label: "$mapval"}] }

// linked returns the child for targets of a type behind a reference, if it is among the links.
func (n *Node) linked(ref uint32, ty typing.Typing) *Node {
	for i := range n.links {
		if l := &n.links[i]; l.ref == ref && l.typ == ty.Type && l.layout == ty.Layout {
			return l.child
		}
	}
	return nil
}

// recurs notes the path by which objects of n refer to ones that fold into p: the first one, which
// is the shortest.
func (p *Node) recurs(n *Node, label string) {
	if p.Recursion != "" {
		return
	}
	p.Recursion = label
	for ; n != p; n = n.parent {
		if strings.HasPrefix(p.Recursion, "[") {
			p.Recursion = n.Name + p.Recursion
		} else {
			p.Recursion = n.Name + "." + p.Recursion
		}
	}
}

// untypedBytes sums up a subtree.
func (n *Node) untypedBytes() int64 {
	sum := n.UntypedBytes
	for _, c := range n.Children {
		sum += c.untypedBytes()
	}
	return sum
}

// prune removes empty subtrees; false if nothing is left.
func (n *Node) prune() bool {
	kept := n.Children[:0]
	for _, c := range n.Children {
		if c.prune() {
			kept = append(kept, c)
		}
	}
	n.Children = kept
	return n.Objects > 0 || n.Bytes > 0 || len(n.Children) > 0
}
