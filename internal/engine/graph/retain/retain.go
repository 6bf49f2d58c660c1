// Package retain finds out what nodes of a report keep alive: what would be freed without them,
// each alone or several together, and what else holds the objects that are charged to them.
package retain

import (
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/memory/parallel"
)

// Run is attribute.Run with a record for Find, Freed and Held. The record takes 4 bytes an object,
// until Release.
func Run(h *typedheap.Heap, program root.Program, onCharge attribute.Charged) (*attribute.Result, *Result) {
	return run(h, program, onCharge, nil)
}

func run(h *typedheap.Heap, program root.Program, onCharge attribute.Charged, part *attribute.Part) (*attribute.Result, *Result) {
	r := &Result{
		heap: h, number: make(map[*attribute.Node]uint32), charged: offheap.Make(int(h.Model.NumObjects) + len(h.Anonymous.List)),
		parts: objset.New(h.Model.NumObjects), untyped: objset.New(h.Model.NumObjects + uint32(len(h.Anonymous.List))),
	}
	done := false
	defer func() {
		if !done { // memory was refused
			r.Release()
		}
	}()
	watch := &attribute.Watcher{Charge: r.charge}
	if onCharge != nil {
		watch.Charge = func(n *attribute.Node, c attribute.Claim) {
			r.charge(n, c)
			onCharge.Claim(n, c)
		}
	}
	r.result = attribute.Run(h, program, attribute.Options{Watch: watch, Part: part})
	r.roots, r.tiny = watch.Roots, watch.Tiny
	done = true
	return r.result, r
}

// Find computes what each node of the result holds (see Retained), what each group of nodes holds
// together, and what each set holds together. A set means the objects that are charged to one of
// its nodes and are of the node's type. In a group a root node stands for its variable; in a set it
// stands for such objects, too. A node may be in one group and in several sets. Find takes time in
// proportion to the references times the number of nodes on a path, and about 12 bytes an object
// and 4 a reference, outside of the heap until Release. Two goroutines share the work on a large
// heap.
//
// The rules are those of the attribution:
//   - The tool's own roots and objects hold nothing, and nothing holds them.
//   - The tables of a map, and compiler-made data behind a variable, belong to the map and the
//     variable.
//   - Variables of tests hold nothing that something else holds, too.
//   - Copies of a reference on one stack (temporaries, arguments, inlined parameters) count once,
//     for the root that comes first in the report.
//   - An object that a root leads to holds its finalizers and cleanups, so that what they keep is
//     freed with the object, if not at once.
//
// Find gives up, and returns false, if the sets of nodes that retain objects are too many and too
// different.
func (r *Result) Find(groups, sets [][]*attribute.Node) (byGroup, bySet []Retained, ok bool) {
	b := r.layOut()
	if b.edges == nil {
		return nil, nil, false
	}
	ofNodes, ofSets := r.label(groups), r.labelSets(sets)
	var byNode, held []Retained
	find := func(i int) {
		if i == 0 {
			byNode, r.rest = b.held(ofNodes, b.labelNodes(ofNodes))
		} else {
			held, _ = b.held(ofSets, b.labelObjects(ofSets))
		}
	}
	if parallel.Workers(r.heap.Model.NumObjects) == 1 {
		find(0)
		find(1)
	} else {
		parallel.Do(2, find)
	}
	if byNode == nil || held == nil {
		return nil, nil, false
	}
	byGroup = make([]Retained, len(groups))
	for i, label := range ofNodes.groups {
		byGroup[i] = byNode[label]
	}
	r.heldBy = make(map[*attribute.Node]Retained, len(ofNodes.nodes))
	for _, n := range ofNodes.nodes {
		r.heldBy[n] = byNode[ofNodes.own[n]]
	}
	return byGroup, held[1:], true
}

// held returns what each label holds, and how many objects no root of the report reaches; nil if
// there are too many sets of labels. It changes nothing but the labels.
func (b *graph) held(l *labels, given labelling) (held []Retained, rest int64) {
	d, rest := b.dominance(given)
	defer d.release()
	if d.full() {
		return nil, 0
	}
	return b.sum(l, d), rest
}

// Release gives the record's memory back.
func (r *Result) Release() {
	offheap.Free(r.charged)
	r.charged = nil
	if r.graph != nil {
		r.graph.edges.Release()
	}
}

// A charge sums up the vertices that are charged to one node and have equal sets of labels.
type charge struct{ objects, bytes int64 }

type chargeKey struct{ set, node uint32 }

// charges sums up what is charged to the report's nodes, by the set of labels that retains it.
func (r *Result) charges(l *labels, d *analysis) map[chargeKey]*charge {
	sums := make(map[chargeKey]*charge)
	// most vertices have a key that another one had shortly before
	var recent [1 << 8]struct {
		chargeKey
		sum *charge
	}
	add := func(set, node uint32, objects, bytes int64) {
		at := chargeKey{set, node}
		last := &recent[(set*31+node)%uint32(len(recent))]
		if last.sum == nil || last.chargeKey != at {
			if sums[at] == nil {
				sums[at] = new(charge)
			}
			last.chargeKey, last.sum = at, sums[at]
		}
		last.sum.objects += objects
		last.sum.bytes += bytes
	}
	tool := r.nodesOf(root.Class.IsTool)
	for i := range r.heap.Model.Spans {
		s := &r.heap.Model.Spans[i]
		for obj := s.FirstObj; obj < s.FirstObj+s.NElems; obj++ {
			node := r.charged[obj]
			if node == 0 || tool[node] {
				continue
			}
			objects := int64(1)
			if r.parts.Has(obj) {
				objects = 0
			}
			add(d.through(obj), node, objects, int64(s.ElemSize))
		}
	}
	for i := range r.small.n {
		if v := r.small.at(i); !tool[v.node] && !v.more {
			add(d.through(uint32(len(r.charged))+i), v.node, 1, int64(v.bytes))
		}
	}
	for _, e := range r.entries {
		child := e.node.MapEntries()
		if child == nil || isTool(e.node) {
			continue
		}
		set := d.through(e.obj)
		for _, label := range l.lists[child] {
			set = d.with(set, label)
		}
		add(set, r.number[child], e.n, 0)
	}
	return sums
}

// sum returns what each label holds.
func (r *Result) sum(l *labels, d *analysis) []Retained {
	l.walked = make([]int, l.max+1)
	held := make([]Retained, l.max+1)
	for _, n := range l.nodes {
		l.above(n, func(label uint32) {
			held[label].SharedObjects += n.Objects
			held[label].SharedBytes += n.Bytes
		})
	}
	retains := make([]int, l.max+1) // by label: the number of the last charge that it retains
	number := 0
	for at, c := range r.charges(l, d) {
		number++
		for set := at.set; set != 0; {
			var label uint32
			label, set = d.split(set)
			retains[label] = number
			held[label].Objects += c.objects
			held[label].Bytes += c.bytes
		}
		n := r.nodes[at.node-1]
		l.above(n, func(label uint32) {
			if retains[label] == number {
				held[label].SharedObjects -= c.objects
				held[label].SharedBytes -= c.bytes
			}
		})
		if own := l.own[n.Top()]; own != 0 && retains[own] == number {
			for _, label := range l.lists[n] {
				held[label].RootObjects += c.objects
				held[label].RootBytes += c.bytes
			}
		}
	}
	return held
}
