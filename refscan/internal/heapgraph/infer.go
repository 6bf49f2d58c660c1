package heapgraph

import (
	"math/bits"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// inferrer spreads types from references to the objects they lead to.
type inferrer struct {
	g     *Graph
	w     walker
	todo  []uint32
	queue bitset  // objects in todo
	stat  []int32 // pieces of compiler-made data to walk
	limit int     // how many bytes may be walked

	deducing bool
	partly   []uint32 // objects that were typed in part since deducing
}

// maxWalks is how often the pointerful memory may be walked to find types, on average, and minWalk how many bytes may
// be in any case. Two or three times are usual; a damaged heap could have as many views of an object as it has references.
const (
	maxWalks = 64
	minWalk  = 1 << 24
)

// infer types the marked objects. It ends because every change of an object's typing is an
// improvement in a strict order (typeTable.better).
func (g *Graph) infer() {
	g.typing = make(typings, g.m.NumObjects)
	in := &inferrer{g: g, queue: newBitset(g.m.NumObjects), limit: minWalk}
	for i := range g.m.Spans {
		in.limit += maxWalks * len(g.m.Spans[i].Mem)
	}
	in.w = walker{g: g, emit: in.candidate}

	for i := range g.m.Spans {
		in.allocated(&g.m.Spans[i])
	}
	for i := range g.statics {
		if s := &g.statics[i]; s.typ != nil {
			in.w.value(s.typ, s.mem, 0)
		}
	}
	for i := range g.stacks {
		g.walkStack(&g.stacks[i], func(_ frameVar, e edge) { in.candidate(e) })
	}
	for _, s := range g.special {
		in.special(s)
	}
	in.drain()
	if g.nameless() {
		in.openEnds()
	}
	in.deduce()
}

func (in *inferrer) drain() {
	for len(in.todo) > 0 || len(in.stat) > 0 {
		if in.w.walked > in.limit {
			in.g.confused = true
			return
		}
		if n := len(in.stat); n > 0 {
			c := in.g.pieces[in.stat[n-1]]
			in.stat = in.stat[:n-1]
			in.w.object(in.g.types.at(c.typing.typ), c.typing.form, c.mem, c.addr)
			continue
		}
		obj := in.todo[len(in.todo)-1]
		in.todo = in.todo[:len(in.todo)-1]
		in.queue[obj>>6] &^= 1 << (obj & 63)
		in.g.walkObject(&in.w, obj)
	}
}

// walkObject walks a typed object.
func (g *Graph) walkObject(w *walker, obj uint32) {
	ty := g.typing.of(obj)
	if ty.typ == 0 {
		return
	}
	s := g.m.SpanOf(obj)
	mem, addr := g.payload(s, obj)
	if mem == nil {
		if ty.form == formMap || ty.form == formChan {
			w.object(g.types.at(ty.typ), ty.form, nil, addr)
		}
		return
	}
	w.object(g.types.at(ty.typ), ty.form, mem[ty.off:], addr)
}

// allocated types the objects whose type the allocator recorded.
func (in *inferrer) allocated(s *goruntime.Span) {
	if s.NoScan || s.HasSmallMask() {
		return
	}
	for k := uint32(0); k < s.NElems; k++ {
		obj := s.FirstObj + k
		if !in.g.marked.has(obj) {
			continue
		}
		rt, start := in.g.m.AllocatedType(s, obj)
		if rt == nil {
			continue
		}
		t := in.g.types.byRuntimeType(rt.Addr)
		if t == nil {
			continue
		}
		f := formOne
		if t.Size > 0 && s.ElemSize-start >= 2*t.Size {
			f = formArray
		}
		in.set(obj, typing{typ: t.index, form: f, rank: rankAllocated, full: true}, s)
	}
}

func (in *inferrer) special(s goruntime.Special) {
	tt := in.g.types
	fn := func(p uint64) {
		if p == 0 {
			return
		}
		if t := in.g.closureAt(p); t != nil {
			in.candidate(edge{to: p, typ: t, form: formClosure, rank: rankDynamic})
		}
	}
	fn(s.Fn)
	fn(s.Call)
	if s.Kind != goruntime.Finalizer {
		in.candidate(in.g.argument(s))
		return
	}
	ptr := in.g.m.Type(s.ObjectType)
	if ptr == nil {
		return
	}
	t := tt.byRuntimeType(ptr.Elem)
	if t == nil {
		return
	}
	if s.Obj != goruntime.NoObject {
		in.candidate(edge{to: s.Span.Addr(s.Obj), typ: t, form: formOne, rank: rankDynamic})
	} else if s.Arg != 0 {
		in.candidate(edge{to: s.Arg, typ: t, form: formOne, rank: rankDynamic})
	}
}

// candidate offers a typing to the object that an edge leads to.
func (in *inferrer) candidate(e edge) {
	g := in.g
	s, obj := g.m.Object(e.to)
	if s == nil {
		in.staticCandidate(e)
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
		in.set(obj, ty, s)
		return
	}
	t := e.typ
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
	in.set(obj, ty, s)
}

func (in *inferrer) set(obj uint32, ty typing, s *goruntime.Span) {
	g := in.g
	old := g.typing.of(obj)
	if ty.form == formInternal {
		if old.form == formInternal {
			return
		}
		g.typing.set(obj, ty)
		return
	}
	if old.form == formInternal {
		return
	}
	if ty.typ == 0 || old == ty || (old.typ != 0 && !g.types.better(ty, old, s.ElemSize)) {
		return
	}
	g.typing.set(obj, ty)
	if in.deducing && !ty.full && ty.form == formOne {
		in.partly = append(in.partly, obj)
	}
	if (!s.NoScan || ty.form == formMap) && in.queue.add(obj) {
		in.todo = append(in.todo, obj)
	}
}

// staticCandidate types compiler-made data, such as the array behind a package-level slice.
func (in *inferrer) staticCandidate(e edge) {
	c := in.g.carve(e)
	if c == nil {
		return
	}
	i, known := in.g.pieceAt[c.addr]
	if known {
		old := &in.g.pieces[i]
		if len(old.mem) > len(c.mem) || (len(old.mem) == len(c.mem) && !in.g.types.better(c.typing, old.typing, uint64(len(c.mem)))) {
			return
		}
		*old = *c
	} else {
		i = int32(len(in.g.pieces))
		in.g.pieces = append(in.g.pieces, *c)
		in.g.pieceAt[c.addr] = i
	}
	in.stat = append(in.stat, i)
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
		for _, w := range t.words {
			if at := (off+k*t.Size)/8 + uint64(w); at < 64 {
				want |= 1 << at
			}
		}
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
