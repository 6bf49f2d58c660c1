package heapgraph

import (
	"math/bits"
	"sort"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// offer offers a typing to the object that an edge leads to.
func (o *offerer) offer(e *edge, s *goruntime.Span, obj uint32) {
	g := o.g
	if s == nil {
		o.static(*e)
		return
	}
	if s.Tiny && e.form != formInternal {
		return // blocks of the tiny allocator hold several values; references type them one by one
	}
	if e.typ == nil && e.form != formInternal {
		return
	}
	start := s.Addr(obj)
	size := s.ElemSize
	if s.HasHeader() {
		start += 8
		size -= 8
	}
	if e.to < start {
		return
	}
	ty := typing{form: e.form, rank: e.rank}
	if e.form == formInternal {
		ty.full = true
		o.set(obj, ty, s)
		return
	}
	t := e.typ
	if old := g.typing.now(obj); old.full && old.typ == t.index && old.form == e.form && old.rank >= e.rank && old.off == 0 {
		return // as most references
	}
	if e.form == formClosure && e.to == start {
		t = g.closureObject(t, s, obj, e.fn)
	}
	off := e.to - start
	if off > 1<<32-1 {
		return
	}
	ty.typ, ty.off = t.index, uint32(off)
	switch e.form {
	case formMap, formChan, formTrie:
		if off != 0 {
			return
		}
		ty.full = true
	case formString:
		if !s.NoScan {
			return
		}
		ty.off, ty.full = 0, true
	case formArray:
		if t.Size == 0 {
			return
		}
		if off > 0 && off%t.Size == 0 && g.fits(t, formArray, s, obj, 0) != misfit {
			ty.off = 0 // a slice of a slice: the array begins with the object
		}
		if size-uint64(ty.off) < t.Size {
			return
		}
		switch g.fits(t, formArray, s, obj, uint64(ty.off)) {
		case misfit:
			// A slice of an array field, say: it tells what a part of the object is.
			if t.HasPointers() || s.NoScan {
				return
			}
			ty.rank = rankInterior
		case fitsAll:
			ty.full = ty.off == 0
		}
	default:
		if t.Size == 0 || t.Size > size-off {
			return
		}
		switch g.fits(t, formOne, s, obj, off) {
		case misfit:
			return
		case fitsAll:
			ty.full = true
		}
		if off > 0 {
			ty.rank = rankInterior
		}
	}
	o.set(obj, ty, s)
}

// set gives an object a typing that improves on what it has, now, or after the round if that walks the object.
func (o *offerer) set(obj uint32, ty typing, s *goruntime.Span) {
	g := o.g
	for {
		old := g.typing.now(obj)
		if !g.types.improves(ty, old, s.ElemSize) {
			return
		}
		if o.in.round.has(obj) {
			o.later = addOffer(o.later, obj, ty)
			return
		}
		if g.typing.replace(obj, old, ty) {
			break
		}
	}
	if ty.form == formInternal {
		return
	}
	if o.in.deducing && !ty.full && ty.form == formOne {
		o.partly = append(o.partly, obj)
	}
	if (!s.NoScan || ty.form == formMap) && o.in.next.addShared(obj) {
		if len(o.found) < o.in.crowd {
			o.found = append(o.found, obj)
		}
	}
}

// static keeps what a reference tells of compiler-made data, such as the array behind a package-level slice, for the end of the
// round.
func (o *offerer) static(e edge) {
	if c := o.g.carve(e); c != nil && o.g.improvesPiece(c) {
		o.pieces = append(o.pieces, *c)
	}
}

// improvesPiece reports whether a piece is new, or larger or of a better typing than what is known at its address.
func (g *Graph) improvesPiece(c *carved) bool {
	i, known := g.pieceAt[c.addr]
	if !known {
		return true
	}
	old := &g.pieces[i]
	if len(old.mem) != len(c.mem) {
		return len(old.mem) < len(c.mem)
	}
	return g.types.better(c.typing, old.typing, uint64(len(c.mem)))
}

// piece types compiler-made data.
func (in *inferrer) piece(c *carved) {
	g := in.g
	if !g.improvesPiece(c) {
		return
	}
	i, known := g.pieceAt[c.addr]
	if known {
		g.pieces[i] = *c
	} else {
		i = int32(len(g.pieces))
		g.pieces = append(g.pieces, *c)
		g.pieceAt[c.addr] = i
	}
	in.stat = append(in.stat, i)
}

// sortPieces numbers the pieces by address.
func (g *Graph) sortPieces() {
	sort.Slice(g.pieces, func(i, j int) bool { return g.pieces[i].addr < g.pieces[j].addr })
	for i := range g.pieces {
		g.pieceAt[g.pieces[i].addr] = int32(i)
	}
}

// fit says how a type agrees with what the allocator knows of an object's pointers.
type fit uint8

const (
	misfit   fit = iota // the type has a pointer where the object has none
	fitsSome            // the object has pointers that the type does not account for
	fitsAll
)

// fits compares a type, or an array of it, at an offset of an object with the object's pointer bits.
// Larger objects carry their type, which outranks any other, and are not compared.
func (g *Graph) fits(t *Type, f form, s *goruntime.Span, obj uint32, off uint64) fit {
	if s.NoScan {
		if t.HasPointers() {
			return fitsSome // the runtime allocates some of its own records without telling the collector
		}
		return fitsAll
	}
	if !s.HasSmallMask() {
		return fitsSome
	}
	have := s.SmallMask(obj)
	if t.words == nil && t.HasPointers() {
		return fitsSome
	}
	if off%8 != 0 {
		if t.HasPointers() {
			return misfit
		}
		return fitsSome
	}
	want := uint64(0)
	n := uint64(1)
	if f == formArray {
		n = (s.ElemSize - off) / t.Size
	}
	if t.Size%8 != 0 && t.HasPointers() {
		return misfit
	}
	for k := uint64(0); k < n && t.HasPointers(); k++ {
		want |= t.mask << ((off + k*t.Size) / 8) // what is beyond 64 words falls off
	}
	if f == formArray {
		// The array may be shorter than its size class: what counts is that both agree up to the last
		// pointer of the object.
		switch {
		case have&^want != 0:
			return misfit
		case want == have:
			return fitsAll
		}
		// Extra wanted words must all lie behind the last pointer there is.
		if missing := want &^ have; have != 0 && missing&(1<<(64-bits.LeadingZeros64(have))-1) != 0 {
			return misfit
		}
		return fitsAll
	}
	switch {
	case want&^have != 0:
		return misfit
	case want == have:
		return fitsAll
	}
	return fitsSome
}
