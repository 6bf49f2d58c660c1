package refscan

import (
	"sort"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/retain"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
)

// WithRetained makes Scan find what each node retains: the objects and bytes that would be freed if
// the node alone were cut, whatever node they are charged to. It sets Report.Retained.
//
// For a root that is what clearing the variable would free, in all goroutines that the root stands
// for. For another node it is what dropping all objects charged to it would free: two elements of a
// list that share a payload retain it together, though neither does alone. So retained figures do
// not add up, neither over children nor over siblings. What two roots both lead to is retained by
// neither; it is charged to one of them, and is in the shared figures of that root.
//
// Counts and bytes are those of the attribution (a map is one object with all its tables), and so
// are holders. The tool's own memory holds nothing. Copies of a reference on one stack, such as
// arguments and temporaries, are one reference, which belongs to the root that comes first. Data
// that the compiler made for a package variable belongs to that variable. What a finalizer or
// cleanup keeps is freed with the object that it is attached to.
//
// It also fills in Report.Types: what all objects of a type retain together.
//
// The computation may take some 150 MB. If the heap is too complex for that, Report.Retained stays
// false and a warning says so.
//
// It takes about as long as a scan, and meanwhile some 20 bytes per object and 4 per reference,
// outside the heap.
func WithRetained() ScanOption { return WithRetainedSets(nil) }

// WithRetainedSets is WithRetained, and also fills in what the sets that choose returns retain.
// choose gets the report, whose nodes the sets consist of. Where Report.Retained stays false, the
// sets stay as they are.
func WithRetainedSets(choose func(*Report) []*NodeSet) ScanOption {
	return scanOption(func(c *scanConfig) {
		c.queries.Retained = true
		c.attribute = func(g *typedheap.Heap, program root.Program, charged attribute.Charged) (*attribute.Result, func(*Report), func()) {
			return attributeRetained(g, program, charged, choose)
		}
	})
}

// A NodeSet is a set of nodes, and what their objects retain together. These objects are the ones
// charged to a node of the set that are of the node's type. A root stands for the objects charged
// to it, not for the variable.
type NodeSet struct {
	Nodes []*Node
	// What cutting all these objects would free, themselves included, whatever node it is charged
	// to.
	RetainedObjects, RetainedBytes int64
	// Of the objects charged to the nodes and below, those that something else keeps alive, too.
	SharedObjects, SharedBytes int64
}

func attributeRetained(g *typedheap.Heap, program root.Program, charged attribute.Charged, choose func(*Report) []*NodeSet) (*attribute.Result, func(*Report), func()) {
	res, retention := retain.Run(g, program, charged)
	return res, func(r *Report) {
		graphNode := make(map[*Node]*attribute.Node)
		pairNodes(graphNode, r.Roots, res.Roots)
		var together [][]*attribute.Node
		foldNodes(r.Roots, "", func(_ *Node, members []*Node) {
			if len(members) < 2 {
				return
			}
			r.Together = append(r.Together, Together{Nodes: len(members)})
			var of []*attribute.Node
			for _, n := range members {
				n.Together = len(r.Together)
				of = append(of, graphNode[n])
			}
			together = append(together, of)
		})
		sets, ofSets := setsOf(r, graphNode, choose)
		held, bySet, ok := retention.Find(together, ofSets)
		if !ok {
			r.Together, r.Types = nil, nil
			for n := range graphNode {
				n.Together = 0
			}
			r.Warnings = append(r.Warnings, "what nodes retain is not known: the ways in which objects are kept alive are too many to tell apart")
			return
		}
		for i, h := range held {
			t := &r.Together[i]
			t.RetainedObjects, t.RetainedBytes, t.SharedObjects, t.SharedBytes = h.Objects, h.Bytes, h.SharedObjects, h.SharedBytes
			t.RootObjects, t.RootBytes = h.RootObjects, h.RootBytes
		}
		fillSets(r, sets, bySet)
		for n, of := range graphNode {
			n.hold(retention.Held(of))
		}
		r.Retained = true
	}, retention.Release
}

// setsOf lists the sets of nodes whose retained figures are needed: one for each type, which it
// also adds to r.Types, then the sets that choose returns. choose may be nil.
func setsOf(r *Report, graphNode map[*Node]*attribute.Node, choose func(*Report) []*NodeSet) (sets []*NodeSet, of [][]*attribute.Node) {
	setOf := make(map[string]int) // by type: 1 + the index in r.Types and sets
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
	of = make([][]*attribute.Node, len(sets))
	for i, s := range sets {
		for _, n := range s.Nodes {
			of[i] = append(of[i], graphNode[n])
		}
	}
	return sets, of
}

// fillSets fills in what sets and r.Types retain, and sorts r.Types, the largest first.
func fillSets(r *Report, sets []*NodeSet, held []retain.Retained) {
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
}

// pairNodes fills in, for each node of the report, the node of the attribution that it was made of.
func pairNodes(to map[*Node]*attribute.Node, nodes []*Node, of []*attribute.Node) {
	for i, n := range nodes {
		to[n] = of[i]
		pairNodes(to, n.Children, of[i].Children)
	}
}
