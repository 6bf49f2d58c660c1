package heapgraph

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// inferrer spreads types from references to the objects they lead to, in rounds: each walks the objects whose typing changed in
// the one before. A typing does not change while a round walks its object, and of all typings that a round offers
// to an object the best wins, so that what comes out depends neither on the order of walks nor on how many goroutines walk.
type inferrer struct {
	g       *Graph
	by      []*offerer
	round   bitset     // objects that this round walks
	next    bitset     // those of the next
	lists   [][]uint32 // objects of round, unless it is crowded
	crowded bool       // they are too many for lists
	crowd   int        // how many that is
	aside   []portion  // of large objects of the round
	stat    []int32    // pieces of compiler-made data to walk
	limit   int        // how many bytes may be walked

	deducing bool
}

// An offerer walks objects and offers typings to what they refer to. It is one goroutine's.
type offerer struct {
	g       *Graph
	in      *inferrer
	w       walker
	batch   batch
	found   []uint32 // objects that the next round walks
	spare   []uint32
	later   []offer  // typings of objects that this round walks
	pieces  []carved // parts of compiler-made data
	fetched byte     // see goruntime.Model.Fetch
	partly  []uint32 // objects that were typed in part since deducing

	deductions []offer // typings to be set when all objects were looked at
}

type offer struct {
	obj uint32
	ty  typing
}

//go:noinline
func addOffer(list []offer, obj uint32, ty typing) []offer { return append(list, offer{obj, ty}) }

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
	g.typing.touch()
	in := &inferrer{g: g, round: newBitset(g.m.NumObjects), next: newBitset(g.m.NumObjects), limit: minWalk}
	in.crowd = max(smallRound, int(g.m.NumObjects)/crowdShare, 1)
	if g.nameless() {
		in.crowd = math.MaxInt // see workers
	}
	for i := range g.m.Spans {
		in.limit += maxWalks * len(g.m.Spans[i].Mem)
	}
	for range g.workers() {
		o := &offerer{g: g, in: in}
		o.batch = batch{g: g, take: o.offer, masks: true}
		o.w = walker{g: g, emit: o.batch.add}
		if g.workers() > 1 {
			o.w.aside = new(portions)
		}
		in.by = append(in.by, o)
	}

	in.spans((*offerer).allocated)
	o := in.by[0]
	for i := range g.statics {
		if s := &g.statics[i]; s.typ != nil {
			o.w.value(s.typ, s.mem, 0)
		}
	}
	for i := range g.stacks {
		g.walkStack(&g.stacks[i], func(_ frameVar, e edge) { o.w.emit(e) })
	}
	for _, s := range g.special {
		o.special(s)
	}
	in.drain()
	if g.nameless() {
		in.openEnds()
	}
	in.deduce()
	g.sortPieces()
}

// spans has all spans looked at, each by one of the goroutines.
func (in *inferrer) spans(look func(*offerer, *goruntime.Span)) {
	spans := in.g.m.Spans
	const some = 64
	var taken atomic.Int64
	together(len(in.by), func(i int) {
		for {
			end := int(taken.Add(some))
			for k := end - some; k < min(end, len(spans)); k++ {
				look(in.by[i], &spans[k])
			}
			if end >= len(spans) {
				return
			}
		}
	})
}

// drain goes round until nothing improves.
func (in *inferrer) drain() {
	for objects := in.begin(); objects > 0 || len(in.stat) > 0; objects = in.begin() {
		walked := 0
		for _, o := range in.by {
			walked += o.w.walked
		}
		if walked > in.limit {
			in.g.confused = true
			return
		}
		o := in.by[0]
		for _, i := range in.stat {
			c := in.g.pieces[i]
			o.w.object(in.g.types.at(c.typing.typ), c.typing.form, c.mem, c.addr)
		}
		in.stat = in.stat[:0]
		if in.crowded {
			in.walkTogether()
		} else {
			for _, list := range in.lists {
				o.walk(list)
			}
		}
		in.walkPortions()
	}
}

// walkPortions walks what the walks of a round have set aside, by all goroutines.
func (in *inferrer) walkPortions() {
	in.aside = in.aside[:0]
	for _, o := range in.by {
		in.aside = o.w.aside.moveTo(in.aside)
	}
	if len(in.aside) == 0 {
		return
	}
	var taken atomic.Int64
	together(len(in.by), func(i int) {
		for k := taken.Add(1); k <= int64(len(in.aside)); k = taken.Add(1) {
			in.by[i].w.portion(&in.aside[k-1])
		}
	})
}

// begin ends a round and begins the next one, and returns how many objects it has, or enough of them for a crowd.
func (in *inferrer) begin() int {
	for _, o := range in.by {
		o.batch.flush()
	}
	if in.crowded {
		clear(in.round)
	}
	for _, list := range in.lists {
		for _, obj := range list {
			in.round[obj>>6] = 0
		}
	}
	first := in.by[0]
	for _, o := range in.by {
		later := o.later
		for _, l := range later {
			first.set(l.obj, l.ty, in.g.m.SpanOf(l.obj))
		}
		o.later = later[:0]
		for i := range o.pieces {
			in.piece(&o.pieces[i])
		}
		o.pieces = o.pieces[:0]
	}
	in.round, in.next = in.next, in.round
	in.lists = in.lists[:0]
	objects := 0
	for _, o := range in.by {
		if len(o.found) > 0 {
			in.lists = append(in.lists, o.found)
			objects += len(o.found)
		}
		o.found, o.spare = o.spare[:0], o.found
	}
	in.crowded = objects >= in.crowd
	return objects
}

// crowdShare: a round with one of so many of the heap's objects is worth looking for them in the whole set.
const crowdShare = 1 << 12

// walkTogether walks the objects of a round by all goroutines, in the order of memory, which the processor reads sooner than
// what lies anywhere.
func (in *inferrer) walkTogether() {
	const some = 64
	var taken atomic.Int64
	together(len(in.by), func(i int) {
		list := make([]uint32, 0, 64*some)
		for {
			end := int(taken.Add(some))
			for k := end - some; k < min(end, len(in.round)); k++ {
				for left := in.round[k]; left != 0; left &= left - 1 {
					list = append(list, uint32(64*k+bits.TrailingZeros64(left)))
				}
			}
			in.by[i].walk(list)
			list = list[:0]
			if end >= len(in.round) {
				return
			}
		}
	})
}

// fetchAhead is how many objects are fetched at a time.
const fetchAhead = 16

func (o *offerer) walk(list []uint32) {
	for i, obj := range list {
		if i%fetchAhead == 0 {
			next := list[i:min(i+fetchAhead, len(list))]
			o.fetched += o.g.m.Fetch(next)
			for _, obj := range next {
				o.fetched += byte(o.g.typing[obj])
			}
		}
		o.g.walkObject(&o.w, obj)
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
func (o *offerer) allocated(s *goruntime.Span) {
	if s.NoScan || s.HasSmallMask() {
		return
	}
	for k := uint32(0); k < s.NElems; k++ {
		obj := s.FirstObj + k
		if !o.g.marked.has(obj) {
			continue
		}
		rt, start := o.g.m.AllocatedType(s, obj)
		if rt == nil {
			continue
		}
		t := o.g.types.byRuntimeType(rt.Addr)
		if t == nil {
			continue
		}
		f := formOne
		if t.Size > 0 && s.ElemSize-start >= 2*t.Size {
			f = formArray
		}
		ty := typing{typ: t.index, form: f, rank: rankAllocated, full: true}
		if t.group && s.ElemSize >= manySlots && !o.g.nameless() {
			// A walk of the map will walk it, unless it has none.
			o.deductions = addOffer(o.deductions, obj, ty)
			continue
		}
		o.set(obj, ty, s)
	}
}

// manySlots is from how many bytes of them on a map's slots are worth waiting for the map.
const manySlots = 4096

func (o *offerer) special(s goruntime.Special) {
	tt := o.g.types
	fn := func(p uint64) {
		if p == 0 {
			return
		}
		if t := o.g.closureAt(p); t != nil {
			o.w.emit(edge{to: p, typ: t, form: formClosure, rank: rankDynamic})
		}
	}
	fn(s.Fn)
	fn(s.Call)
	if s.Kind != goruntime.Finalizer {
		o.w.emit(o.g.argument(s))
		return
	}
	ptr := o.g.m.Type(s.ObjectType)
	if ptr == nil {
		return
	}
	t := tt.byRuntimeType(ptr.Elem)
	if t == nil {
		return
	}
	if s.Obj != goruntime.NoObject {
		o.w.emit(edge{to: s.Span.Addr(s.Obj), typ: t, form: formOne, rank: rankDynamic})
	} else if s.Arg != 0 {
		o.w.emit(edge{to: s.Arg, typ: t, form: formOne, rank: rankDynamic})
	}
}
