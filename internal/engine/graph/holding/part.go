package holding

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
)

// A part is what the nodes of a query hold.
type part struct {
	from start
	near *distances
	test distances // of tests' variables
	held objset.Set
	// of these, what a reference that joins leads to
	parts objset.Set
}

// hold finds what the nodes of a query hold. What tests have depends on what the nodes hold, and
// the other way round: at first the nodes hold no part of what a test has, and then ever more.
func (x *Heap) hold(p *part) error {
	p.parts = objset.New(x.heap.NumNodes())
	for range maxRounds {
		before := p.parts
		p.test.release()
		p.test = x.testDistances(p)
		if x.follow(p); slices.Equal(p.parts, before) {
			return nil
		}
	}
	return fmt.Errorf("what variables of tests hold, and what the root holds, is not settled after %d rounds", maxRounds)
}

// maxRounds bounds how often hold begins again. A round finds more parts, or is the last; graphs
// made at random need up to 12.
const maxRounds = 100

// follow fills in what the nodes of the query hold, given what tests have.
func (x *Heap) follow(p *part) {
	p.held, p.parts = objset.New(x.heap.NumNodes()), objset.New(x.heap.NumNodes())
	todo := objset.NewWorklist(x.heap.NumNodes())
	take := func(to uint32, joins bool) {
		if joins {
			p.parts.Add(to)
		}
		if p.held.Add(to) {
			todo.Add(to)
		}
	}
	w := x.walk
	for _, r := range p.from.roots {
		w.root(r, func(to uint32, l heaptype.Link) {
			if !l.Crosses || p.isNearest(to, rootDistance(r).after(l, false)) {
				take(to, !l.Crosses)
			}
		})
	}
	for _, obj := range p.from.objects {
		take(obj, true)
	}
	var k key
	var shared bool
	visit := func(to uint32, l heaptype.Link) {
		if !l.Crosses || p.isNearest(to, k.after(l, shared)) {
			take(to, !l.Crosses)
		}
	}
	for obj, ok := todo.Take(); ok; obj, ok = todo.Take() {
		k, shared = p.near.of(obj), x.elements.Has(obj)
		w.object(obj, visit)
	}
}

// isNearest reports whether no variable is nearer to an object than a distance.
func (p *part) isNearest(obj uint32, k key) bool {
	return p.near.of(obj).length() >= k.length() && p.test.of(obj).length() >= k.length()
}

// beyond sums up what the nodes of a query lead to and do not hold, and names who is nearer.
func (x *Heap) beyond(held *Held, p *part) {
	seen, todo := objset.New(x.heap.NumNodes()), objset.NewWorklist(x.heap.NumNodes())
	nearer := make([]int, len(x.roots)) // by root: to how many objects it is nearest
	add := func(to uint32, _ heaptype.Link) {
		if !p.held.Has(to) && seen.Add(to) {
			todo.Add(to)
		}
	}
	w := x.walk
	for _, r := range p.from.roots {
		w.root(r, add)
	}
	for i, left := range p.held {
		for ; left != 0; left &= left - 1 {
			w.object(uint32(64*i+bits.TrailingZeros64(left)), add)
		}
	}
	for obj, ok := todo.Take(); ok; obj, ok = todo.Take() {
		if obj < x.heap.AnonymousBase() {
			held.Beyond.Objects++
			held.Beyond.Bytes += int64(x.heap.Model.SpanOf(obj).ElemSize)
		}
		near := p.near
		if p.test.of(obj).length() < near.of(obj).length() {
			near = &p.test
		}
		if near.of(obj) < farther && near.root(obj) < len(nearer) {
			nearer[near.root(obj)]++
		}
		w.object(obj, add)
	}
	most := 0
	for i, r := range x.roots {
		if nearer[i] > most {
			most, held.Nearer = nearer[i], &r.Root
		}
	}
}
