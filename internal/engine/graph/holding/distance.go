package holding

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
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

// distances has the distance of each object, and the variable that is nearest: the first one in the
// order of roots, of those that are equally near.
type distances struct {
	words []uint32 // 0, or 1 + a place
}

// A place is a distance, and below it, in 24 bits, the index of the root. The least is the nearest.
type place uint32

const (
	rootBits = 24
	maxRoots = 1<<rootBits - 1 // indexes of roots are lower; it stands for no root
)

func placeOf(k key, of int) place { return place(k)<<rootBits | place(min(of, maxRoots)) }

func (p place) key() key { return key(p >> rootBits) }

func (d *distances) release() {
	offheap.Free(d.words)
	d.words = nil
}

func (d *distances) of(obj uint32) key {
	if w := d.words[obj]; w != 0 {
		return place(w - 1).key()
	}
	return farther
}

// root returns the index of the nearest root.
func (d *distances) root(obj uint32) int { return int(d.words[obj]-1) & maxRoots }

// spread finds distances from some roots and objects, the nearest first.
type spread struct {
	distances
	walk    *walk
	level   key              // objects at this distance are being visited
	todo    *objset.Worklist // those of them whose references are to be followed
	pending objset.Set       // objects that are farther, or were when they were found
}

// find returns the distances that a function finds. If it panics, it leaves no memory behind.
func (x *Heap) find(f func(*spread)) distances {
	n := x.heap.NumNodes()
	s := &spread{walk: x.walk, level: farther, todo: objset.NewWorklist(n), pending: objset.New(n)}
	s.words = offheap.Make(int(n))
	done := false
	defer func() {
		if !done {
			s.release()
		}
	}()
	f(s)
	done = true
	return s.distances
}

// reach notes that there is a way to an object, if none that is known is shorter.
func (s *spread) reach(obj uint32, p place) {
	if w := s.words[obj]; p.key() >= farther || w != 0 && place(w-1) <= p {
		return
	}
	s.words[obj] = uint32(p) + 1
	if p.key() == s.level {
		s.todo.Add(obj)
	} else {
		s.pending.Add(obj)
	}
}

// run follows references; after returns the distance behind one, farther to leave it out.
func (s *spread) run(after func(k key, holder, to uint32, l heaptype.Link) key) {
	var holder uint32
	var from place
	visit := func(to uint32, l heaptype.Link) {
		s.reach(to, placeOf(after(from.key(), holder, to, l), int(from&maxRoots)))
	}
	for s.begin() {
		for obj, ok := s.todo.Take(); ok; obj, ok = s.todo.Take() {
			holder, from = obj, place(s.words[obj]-1)
			s.walk.object(obj, visit)
		}
	}
}

// begin begins the next level, and reports whether there is one.
func (s *spread) begin() bool {
	before := s.level
	s.level = farther
	s.eachPending(func(obj uint32) {
		if k := s.of(obj); before != farther && k <= before {
			s.pending.Remove(obj) // it was reached on a shorter way, and visited
		} else {
			s.level = min(s.level, k)
		}
	})
	s.eachPending(func(obj uint32) {
		if s.of(obj) == s.level {
			s.pending.Remove(obj)
			s.todo.Add(obj)
		}
	})
	return s.level != farther
}

func (s *spread) eachPending(f func(obj uint32)) {
	for i, left := range s.pending {
		for ; left != 0; left &= left - 1 {
			f(uint32(64*i + bits.TrailingZeros64(left)))
		}
	}
}

// distances finds the distance of each object from the variables that are no test's, from the roots
// that a query is about, and from objects where it begins anew.
func (x *Heap) distances(from start) distances {
	return x.find(func(s *spread) {
		for _, obj := range from.objects {
			s.reach(obj, placeOf(0, maxRoots))
		}
		for i, r := range x.roots {
			if !isVariable(r) || r.OfTest && !from.has(r) {
				continue
			}
			s.walk.root(r, func(to uint32, l heaptype.Link) { s.reach(to, placeOf(rootDistance(r).after(l, false), i)) })
		}
		s.run(func(k key, holder, _ uint32, l heaptype.Link) key { return k.after(l, x.elements.Has(holder)) })
	})
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
	reach := func(k key, to uint32, l heaptype.Link, shared bool) key {
		if p.parts.Has(to) {
			return farther
		}
		return k.after(heaptype.Link{Crosses: l.Crosses}, shared)
	}
	return x.find(func(s *spread) {
		for i, r := range x.roots {
			if r.OfTest && isVariable(r) && !p.from.has(r) {
				s.walk.root(r, func(to uint32, l heaptype.Link) { s.reach(to, placeOf(reach(0, to, l, false), i)) })
			}
		}
		s.run(func(k key, holder, to uint32, l heaptype.Link) key { return reach(k, to, l, x.elements.Has(holder)) })
	})
}
