package refscan

import (
	"github.com/leakgate/leakgate/internal/pprofwire"
	"github.com/leakgate/leakgate/refscan/internal/heapgraph"
)

// WithRetained makes Scan find out what each node retains: the objects and bytes that would be freed
// if the node alone were cut, whatever node they are charged to. It sets Report.Retained.
//
// For a root that is what clearing the variable would free, in all goroutines that the root stands
// for. For another node it is what dropping all objects charged to it would free: two elements of a
// list that share a payload retain it together, though neither does alone. So retained figures are no
// sums, neither over children nor over siblings. What two roots both lead to is retained by neither; it is
// charged to one of them, and in the shared figures of that one.
//
// Counts and bytes are those of the attribution (a map is one object with all its tables), and so are
// holders: the tool's own memory holds nothing; copies of a reference on one stack, such as arguments
// and temporaries, are one reference, which belongs to the root that comes first; data that
// the compiler made for a package variable belongs to that variable; what a finalizer or cleanup keeps is freed with
// the object that it hangs on.
//
// If what is kept by what gets too complex for the memory that this may take, some 150 MB, Report.Retained stays
// false and a warning says so.
//
// It takes about as long as a scan, and some 30 bytes an object and 4 a reference meanwhile.
func WithRetained() ScanOption {
	return scanOption(func(c *scanConfig) { c.attribute = attributeRetained })
}

// heldNode is what a node's public figures do not say.
type heldNode struct {
	rootObjects, rootBytes int64      // of its own objects and bytes, what nothing but the root on its path keeps
	group                  *heldGroup // nil if Fold merges the node with no other
}

// heldGroup is what nodes that Fold merges hold together.
type heldGroup struct {
	members int
	held    heapgraph.Held
}

func attributeRetained(g *heapgraph.Graph, charged heapgraph.Charged) (*heapgraph.Result, func(*Report)) {
	res, retention := g.AttributeRetained(charged)
	return res, func(r *Report) {
		graphNode := make(map[*Node]*heapgraph.Node)
		pairNodes(graphNode, r.Roots, res.Roots)
		var groups []*heldGroup
		var together [][]*heapgraph.Node
		r.more = &extension{merge: func(_ *Report, _ *Node, members []*Node) {
			if len(members) < 2 {
				return
			}
			group := &heldGroup{members: len(members)}
			groups = append(groups, group)
			var of []*heapgraph.Node
			for _, n := range members {
				n.held.group = group
				of = append(of, graphNode[n])
			}
			together = append(together, of)
		}}
		r.foldNodes(r.Roots)
		held, ok := retention.RetainedBy(together)
		if !ok {
			r.more = nil
			r.Warnings = append(r.Warnings, "what nodes retain is not known: the ways in which objects are kept alive are too many to tell apart")
			return
		}
		for i := range groups {
			groups[i].held = held[i]
		}
		for n, of := range graphNode {
			n.hold(of.Held())
		}
		r.Retained = true
		r.more = &extension{
			merge:  mergeHeld,
			types:  []pprofwire.ValueType{{Type: "retained_objects", Unit: "count"}, {Type: "retained_space", Unit: "bytes"}},
			values: heldValues,
		}
	}
}

func heldValues(n *Node) []int64 {
	if n.held == nil {
		return []int64{0, 0}
	}
	return []int64{n.held.rootObjects, n.held.rootBytes}
}

// pairNodes fills in which node of the graph's result each node of the report was made of.
func pairNodes(to map[*Node]*heapgraph.Node, nodes []*Node, of []*heapgraph.Node) {
	for i, n := range nodes {
		n.held = &heldNode{}
		to[n] = of[i]
		pairNodes(to, n.Children, of[i].Children)
	}
}

func (n *Node) hold(h heapgraph.Held) {
	n.RetainedObjects, n.RetainedBytes = h.Objects, h.Bytes
	n.SharedObjects, n.SharedBytes = h.SharedObjects, h.SharedBytes
	n.held.rootObjects, n.held.rootBytes = h.RootObjects, h.RootBytes
}

// mergeHeld gives a folded node the figures of its members. They are known for nodes that Fold merged
// when the scan was made, all together; for others, to has none.
func mergeHeld(to *Report, folded *Node, members []*Node) {
	first := members[0]
	if first.held == nil {
		to.Retained = false
		return
	}
	folded.held = &heldNode{}
	group := first.held.group
	if group == nil {
		to.Retained = to.Retained && len(members) == 1
		folded.hold(heapgraph.Held{
			Objects: first.RetainedObjects, Bytes: first.RetainedBytes,
			SharedObjects: first.SharedObjects, SharedBytes: first.SharedBytes,
			RootObjects: first.held.rootObjects, RootBytes: first.held.rootBytes,
		})
		return
	}
	to.Retained = to.Retained && len(members) == group.members
	for _, n := range members {
		to.Retained = to.Retained && n.held != nil && n.held.group == group
	}
	folded.hold(group.held)
}
