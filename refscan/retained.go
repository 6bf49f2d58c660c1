package refscan

import (
	"sort"

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
// It also fills in Report.Types: what all objects of a type retain together.
//
// If what is kept by what gets too complex for the memory that this may take, some 150 MB, Report.Retained stays
// false and a warning says so.
//
// It takes about as long as a scan, and some 15 bytes an object and 4 a reference meanwhile, outside of the heap.
func WithRetained() ScanOption { return WithRetainedSets(nil) }

// WithRetainedSets is WithRetained, and fills in what the sets retain that choose names, nodes of the report that
// it is called with. Where Report.Retained stays false, it fills in nothing.
func WithRetainedSets(choose func(*Report) []*NodeSet) ScanOption {
	return scanOption(func(c *scanConfig) {
		c.attribute = func(g *heapgraph.Graph, charged heapgraph.Charged) (*heapgraph.Result, func(*Report)) {
			return attributeRetained(g, charged, choose)
		}
	})
}

// A NodeSet is a set of nodes, and what is retained by their objects together: those charged to one of the nodes that
// are of its type. A root stands for the objects charged to it, not for the variable.
type NodeSet struct {
	Nodes []*Node
	// What cutting all these objects would free, themselves included, whatever node it is charged to.
	RetainedObjects, RetainedBytes int64
	// Of what is charged to the nodes and below, what something else keeps alive, too.
	SharedObjects, SharedBytes int64
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

func attributeRetained(g *heapgraph.Graph, charged heapgraph.Charged, choose func(*Report) []*NodeSet) (*heapgraph.Result, func(*Report)) {
	res, retention := g.AttributeRetained(charged)
	return res, func(r *Report) {
		defer retention.Release()
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
		ok = ok && retainSets(r, retention, graphNode, choose)
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

// retainSets finds out what types retain, and the sets that choose names, unless it is nil.
func retainSets(r *Report, retention *heapgraph.Retention, graphNode map[*Node]*heapgraph.Node, choose func(*Report) []*NodeSet) bool {
	setOf := make(map[string]int) // 1 + index in r.Types, and of its set
	var sets []*NodeSet
	var add func(nodes []*Node)
	add = func(nodes []*Node) {
		for _, n := range nodes {
			if objects, bytes := n.Objects-n.UntypedObjects, n.Bytes-n.UntypedBytes; n.Type != "" && (objects > 0 || bytes > 0) {
				if setOf[n.Type] == 0 {
					r.Types, sets = append(r.Types, &Node{Name: n.Type, Type: n.Type}), append(sets, &NodeSet{})
					setOf[n.Type] = len(sets)
				}
				i := setOf[n.Type] - 1
				r.Types[i].Objects += objects
				r.Types[i].Bytes += bytes
				sets[i].Nodes = append(sets[i].Nodes, n)
			}
			add(n.Children)
		}
	}
	add(r.Roots)
	if choose != nil {
		sets = append(sets, choose(r)...)
	}
	of := make([][]*heapgraph.Node, len(sets))
	for i, s := range sets {
		for _, n := range s.Nodes {
			of[i] = append(of[i], graphNode[n])
		}
	}
	held, ok := retention.RetainedByObjects(of)
	if !ok {
		r.Types = nil
		return false
	}
	for i, s := range sets {
		h := held[i]
		s.RetainedObjects, s.RetainedBytes, s.SharedObjects, s.SharedBytes = h.Objects, h.Bytes, h.SharedObjects, h.SharedBytes
	}
	for i, t := range r.Types {
		s := sets[i]
		t.RetainedObjects, t.RetainedBytes, t.SharedObjects, t.SharedBytes = s.RetainedObjects, s.RetainedBytes, s.SharedObjects, s.SharedBytes
	}
	sort.Slice(r.Types, func(i, j int) bool {
		a, b := r.Types[i], r.Types[j]
		if a.RetainedBytes != b.RetainedBytes {
			return a.RetainedBytes > b.RetainedBytes
		}
		return a.Type < b.Type
	})
	return true
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
