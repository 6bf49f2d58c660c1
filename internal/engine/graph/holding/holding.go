// Package holding decides what a root, or the node of a path, holds where others hold it, too.
//
// A reference joins or crosses (heaptype.Link). References that join lead to parts of a thing: what
// a variable itself points to, the elements of a container, the memory of a slice, the next node of
// a list. A root holds all its parts, whoever else holds them. References that cross lead to
// another thing, which belongs to whoever is nearest: a step from a variable's thing costs little,
// a step from what is an element of some container costs more, and a step from an element that was
// reached through its container costs most, since elements refer back to their owner and to what
// they share. So a root holds what a crossing reference leads to if no other variable is nearer.
// The variables of a goroutine begin farther away than those of packages. Variables of tests are
// nearer than elements, but have nothing that is a part of what the root holds.
package holding

import (
	"slices"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A Heap answers queries on what roots hold. It is not safe for concurrent use.
type Heap struct {
	heap     *typedheap.Heap
	program  root.Program
	roots    []*root.Entry
	elements objset.Set // objects that are elements of some container; nil until they are needed
	near     distances  // of variables, for queries of roots; zero until they are needed
	walk     *walk
}

// New prepares queries on a heap. The first that selects something takes 4 bytes an object until
// Release, and 7 to 9 more for the references of all objects, if there is room for that.
func New(h *typedheap.Heap, program root.Program) *Heap {
	x := &Heap{heap: h, program: program, walk: newWalk(h)}
	if program.Listed == nil {
		x.program.Listed = &x.roots
	}
	x.roots = root.List(h, x.program)
	return x
}

// Release gives memory back.
func (x *Heap) Release() {
	x.near.release()
	x.walk.laid.Release()
}

// A Query selects nodes by their paths: attribute.In for the selected ones, Through for
// those that may lead to some, Out for all others.
type Query func(path string, of *root.Root) attribute.Selection

// Held is what the nodes of a query hold.
type Held struct {
	Roots []*attribute.Node // trees with the selected nodes and those above them
	Part  *attribute.Part
	// Beyond is what the selected nodes lead to and do not hold. Nearer is the root that is nearest
	// to most of it, nil if Beyond is empty.
	Beyond struct{ Objects, Bytes int64 }
	Nearer *root.Root
}

// Find answers a query. charged may be nil.
//
// It fails if the nodes and variables of tests hold each other's memory by turns, without an end.
func (x *Heap) Find(q Query, charged attribute.Charged) (*Held, error) {
	from := x.begin(q)
	held := &Held{Part: &attribute.Part{Select: q}}
	if len(from.roots)+len(from.objects) == 0 {
		held.Roots = from.tree
		return held, nil
	}
	if x.elements == nil {
		x.walk.lay()
		x.findElements()
	}
	p := &part{from: from, near: &x.near}
	defer func() { p.test.release() }()
	alone := len(from.objects) > 0 || slices.ContainsFunc(from.roots, func(r *root.Entry) bool { return r.OfTest })
	if alone || x.near.words == nil {
		x.near.release()
		x.near = x.distances(from)
	}
	if alone {
		defer x.near.release() // these distances are of this query alone: a later one finds its own
	}
	if err := x.hold(p); err != nil {
		return nil, err
	}
	held.Part.Within = p.held
	held.Roots = attribute.Run(x.heap, x.program, attribute.Options{Charged: charged, Part: held.Part}).Roots
	x.beyond(held, p)
	return held, nil
}

// start is where a query begins: at references of whole roots, or at objects.
type start struct {
	roots   []*root.Entry
	objects []uint32
	tree    []*attribute.Node // down to the selected nodes of paths, which map entries may be
}

func (s *start) has(r *root.Entry) bool { return slices.Contains(s.roots, r) }

// begin finds where the selected nodes begin.
func (x *Heap) begin(q Query) start {
	var from start
	leadsOn := false
	for _, r := range x.roots {
		switch q(symbol.FoldPath(r.Name), &r.Root) {
		case attribute.In:
			if len(r.Edges) > 0 {
				from.roots = append(from.roots, r)
			}
		case attribute.Through:
			leadsOn = leadsOn || len(r.Edges) > 0
		}
	}
	if !leadsOn {
		return from
	}
	charge := func(n *attribute.Node, c attribute.Claim) {
		if n.IsWithin() && (c.Kind == attribute.KindObject || c.Kind == attribute.KindAnonymous) {
			from.objects = append(from.objects, c.Obj)
		}
	}
	from.tree = attribute.Run(x.heap, x.program, attribute.Options{Part: &attribute.Part{Select: q, Tops: true}, Watch: &attribute.Watcher{Charge: charge}}).Roots
	return from
}
