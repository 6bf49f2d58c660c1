// Package retain finds out what nodes of a report keep alive: what would be freed without them,
// each alone or several together, and what else holds the objects that are charged to them.
package retain

import (
	"github.com/leakgate/leakgate/internal/engine/attribute"
	"github.com/leakgate/leakgate/internal/engine/dominance"
	"github.com/leakgate/leakgate/internal/engine/objset"
	"github.com/leakgate/leakgate/internal/engine/offheap"
	"github.com/leakgate/leakgate/internal/engine/parallel"
	"github.com/leakgate/leakgate/internal/engine/root"
	"github.com/leakgate/leakgate/internal/engine/typedheap"
)

// Run is Attribute with a record for RetainedBy and RetainedByObjects. It takes 4
// bytes an object, until Release.
func Run(h *typedheap.Heap, program root.Program, onCharge attribute.Charged) (*attribute.Result, *Result) {
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
	r.result = attribute.Run(h, program, attribute.Options{Watch: watch})
	r.roots, r.tiny = watch.Roots, watch.Tiny
	done = true
	return r.result, r
}

// Find finds out what each node of the result holds (see Held), what each of the groups of nodes holds
// together, and what the objects of each set of nodes hold together: those charged to one of the nodes
// that are of its type. For a set, unlike for a group, a root stands for such objects, too, and not for
// its variable. A node may be in one group and in several sets. It takes time in proportion to the
// references times the number of nodes on a path, and about 12 bytes an object and 4 a reference, outside
// of the heap until Release. Two goroutines share the work on a large heap.
//
// What holds is seen as in the attribution:
//   - The tool's own roots and objects hold nothing, and are held by nothing.
//   - The tables of a map, and compiler-made data behind a variable, belong to the map and the variable.
//   - Copies of a reference on one stack (temporaries, arguments, inlined parameters) are one, which
//     belongs to the root that comes first in the report.
//   - A finalizer or cleanup is held by its object while a root leads to that, so that what it keeps is
//     freed with the object, if not at once.
//
// It gives up, and returns false, if the sets of nodes that objects are retained by are too many
// and too different.
func (r *Result) Find(groups, sets [][]*attribute.Node) (byGroup, bySet []Held, ok bool) {
	b := r.layOut()
	if b.edges == nil {
		return nil, nil, false
	}
	ofNodes, ofSets := r.label(groups), r.labelSets(sets)
	var byNode, held []Held
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
	byGroup = make([]Held, len(groups))
	for i, label := range ofNodes.groups {
		byGroup[i] = byNode[label]
	}
	r.heldBy = make(map[*attribute.Node]Held, len(ofNodes.nodes))
	for _, n := range ofNodes.nodes {
		r.heldBy[n] = byNode[ofNodes.own[n]]
	}
	return byGroup, held[1:], true
}

// held returns what each label holds, and how many objects no root of the report reaches; nil if there
// are too many sets of labels. It changes nothing but the labels.
func (b *graph) held(l *labels, given dominance.Labelling) (held []Held, rest int64) {
	d, rest := b.dominance(given)
	defer d.Release()
	if d.Full() {
		return nil, 0
	}
	return b.sum(l, d), rest
}

// Release gives the record's memory back.
func (r *Result) Release() {
	offheap.Free(r.charged)
	r.charged = nil
	if r.graph != nil && r.graph.edges != nil {
		r.graph.edges.Release()
	}
}

// A charge is what the vertices with equal sets of labels cost, of those charged to one node.
type charge struct{ objects, bytes int64 }

type chargeKey struct{ set, node uint32 }

// charges adds up what is charged to the report's nodes, by the labels that it is retained by.
func (r *Result) charges(l *labels, d *dominance.Analysis) map[chargeKey]charge {
	sums := make(map[chargeKey]charge)
	add := func(set, node uint32, objects, bytes int64) {
		at := chargeKey{set, node}
		c := sums[at]
		sums[at] = charge{c.objects + objects, c.bytes + bytes}
	}
	var last chargeKey // neighbours have much in common
	var run charge
	tool := r.toolNodes()
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
			if at := (chargeKey{d.Through(obj), node}); at != last {
				if run != (charge{}) {
					add(last.set, last.node, run.objects, run.bytes)
				}
				last, run = at, charge{}
			}
			run.objects += objects
			run.bytes += int64(s.ElemSize)
		}
	}
	if run != (charge{}) {
		add(last.set, last.node, run.objects, run.bytes)
	}
	for i := range r.small.n {
		if v := r.small.at(i); !tool[v.node] && !v.more {
			add(d.Through(uint32(len(r.charged))+i), v.node, 1, int64(v.bytes))
		}
	}
	for _, e := range r.entries {
		child := e.node.MapEntries()
		if child == nil || isTool(e.node) {
			continue
		}
		set := d.Through(e.obj)
		for _, label := range l.lists[child] {
			set = d.With(set, label)
		}
		add(set, r.number[child], e.n, 0)
	}
	return sums
}

// sum returns what each label holds.
func (r *Result) sum(l *labels, d *dominance.Analysis) []Held {
	l.walked = make([]int, l.max+1)
	held := make([]Held, l.max+1)
	for _, n := range l.nodes {
		l.above(n, func(label uint32) {
			held[label].SharedObjects += n.Objects
			held[label].SharedBytes += n.Bytes
		})
	}
	retains := make([]int, l.max+1) // by label: the last of the charges that it retains
	number := 0
	for at, c := range r.charges(l, d) {
		number++
		for set := at.set; set != 0; {
			var label uint32
			label, set = d.Split(set)
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
