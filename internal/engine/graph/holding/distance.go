package holding

import (
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
)

// A key is the distance of an object from the nearest variable: twice its length, plus one if the
// way leads through an element of a container.
type key uint32

const (
	far     key = 127 // no object is farther
	farther key = 128 // no variable leads to the object, or it is left out
)

// Lengths of ways.
const (
	stepLength    = 1 // from a thing that is no element
	sharedLength  = 4 // from an element of some container, reached otherwise
	elementLength = 8 // from an element, or what lies behind one
	frameLength   = 3 // from a goroutine to its variables
)

func (k key) length() key { return k >> 1 }

// after returns the distance of what a reference leads to. shared says whether its holder is an
// element of some container.
func (k key) after(l heaptype.Link, shared bool) key {
	if k >= farther {
		return k
	}
	length, through := k.length(), k&1
	if l.Element {
		through = 1
	}
	switch {
	case !l.Crosses:
	case through != 0:
		length += elementLength
	case shared:
		length += sharedLength
	default:
		length += stepLength
	}
	return min(length<<1|through, far)
}

// distances has the distance of each object, and the variable that is nearest.
type distances struct {
	words []uint32 // 0, or 1 + the distance, and from bit 8 on the index of the root
}

func (d *distances) release() {
	offheap.Free(d.words)
	d.words = nil
}

func (d *distances) of(obj uint32) key {
	if w := d.words[obj] & 0xff; w != 0 {
		return key(w - 1)
	}
	return farther
}

// root returns the index of the nearest root.
func (d *distances) root(obj uint32) int { return int(d.words[obj] >> 8) }

// maxRoots bounds the indexes of roots.
const maxRoots = 1<<24 - 1

// spread finds distances from some roots and objects, the nearest first.
type spread struct {
	distances
	walk    *walk
	buckets [farther][]uint32
}

func (s *spread) reach(obj uint32, k key, of int) {
	if k < s.of(obj) {
		s.words[obj] = uint32(k) + 1 | uint32(min(of, maxRoots))<<8
		s.buckets[k] = append(s.buckets[k], obj)
	}
}

// run follows references; after returns the distance behind one, farther to leave it out.
func (s *spread) run(after func(k key, holder, to uint32, l heaptype.Link) key) {
	for k := range key(len(s.buckets)) {
		for len(s.buckets[k]) > 0 {
			list := s.buckets[k]
			s.buckets[k] = nil
			for _, obj := range list {
				if s.of(obj) != k {
					continue // it was reached on a shorter way
				}
				of := s.root(obj)
				s.walk.object(obj, func(to uint32, l heaptype.Link) { s.reach(to, after(k, obj, to, l), of) })
			}
		}
	}
}

// distances finds the distance of each object from the variables that are no test's, from the roots
// that a query is about, and from objects where it begins anew.
func (x *Heap) distances(from start) distances {
	s := &spread{distances: distances{offheap.Make(int(x.heap.NumNodes()))}, walk: newWalk(x.heap)}
	for _, obj := range from.objects {
		s.reach(obj, 0, maxRoots)
	}
	for i, r := range x.roots {
		if !isVariable(r) || r.OfTest && !from.has(r) {
			continue
		}
		s.walk.root(r, func(to uint32, l heaptype.Link) { s.reach(to, rootDistance(r).after(l, false), i) })
	}
	s.run(func(k key, holder, _ uint32, l heaptype.Link) key { return k.after(l, x.elements.Has(holder)) })
	return s.distances
}

// isVariable reports whether a root is a variable, even if it has no name.
func isVariable(r *root.Entry) bool {
	return (r.Kind == root.KindGlobal || r.Kind == root.KindFrame) && r.Class < root.ClassToolTimer
}

// rootDistance is where the distance of what a root refers to begins.
func rootDistance(r *root.Entry) key {
	if r.Kind == root.KindFrame {
		return frameLength << 1
	}
	return 0
}

// testDistances finds the distances from the variables of tests, but for those of the roots that a
// query is about. Tests have nothing that is a part of what the query's nodes hold. No way of
// theirs counts as one through an element.
func (x *Heap) testDistances(p *part) distances {
	s := &spread{distances: distances{offheap.Make(int(x.heap.NumNodes()))}, walk: newWalk(x.heap)}
	reach := func(k key, to uint32, l heaptype.Link, shared bool) key {
		if p.parts.Has(to) {
			return farther
		}
		return k.after(heaptype.Link{Crosses: l.Crosses}, shared)
	}
	for i, r := range x.roots {
		if r.OfTest && isVariable(r) && !p.from.has(r) {
			s.walk.root(r, func(to uint32, l heaptype.Link) { s.reach(to, reach(0, to, l, false), i) })
		}
	}
	s.run(func(k key, holder, to uint32, l heaptype.Link) key { return reach(k, to, l, x.elements.Has(holder)) })
	return s.distances
}
