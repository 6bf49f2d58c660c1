package typedheap

import (
	"iter"
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/live"
	"github.com/leakgate/leakgate/internal/engine/heap/stackvar"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/memory/parallel"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/symbol"
)

// inferrer spreads types from references to the objects they lead to, in rounds: each round walks
// the objects whose typing changed in the round before. A typing does not change while a round
// walks its object, and of all typings that a round offers to an object the best wins. So the
// result depends neither on the order of walks nor on how many goroutines walk.
type inferrer struct {
	m        *goruntime.Model
	types    *heaptype.Table
	modules  *symbol.Modules
	data     *typing.Segments
	out      *inferred
	offerers []*offerer
	round    objset.Set         // objects that this round walks
	next     objset.Set         // objects that the next round walks
	lists    [][]uint32         // objects of round, unless it is dense
	isDense  bool               // round has too many objects for lists
	dense    int                // from how many objects on a round is dense
	aside    []heaptype.Portion // portions of large objects of the round
	statics  []int32            // anonymous static data to walk
	limit    int                // how many bytes may be walked

	marked   bool // all that is alive is marked
	deducing bool
}

// An offerer walks objects and offers typings to their targets. It belongs to one goroutine.
type offerer struct {
	m       *goruntime.Model
	types   *heaptype.Table
	typings typing.Table
	in      *inferrer
	w       heaptype.Walker
	batch   typing.Batch
	vars    *stackvar.Finder
	found   []uint32 // objects that the next round walks
	spare   []uint32
	marks   *live.Marker
	later   []offer            // typings of objects that this round walks, to be set after it
	statics []typing.Anonymous // anonymous static data found in this round
	fetched byte               // see goruntime.Model.Fetch
	walked  uint32             // objects so far
	partly  []uint32           // objects that were typed in part since deducing

	deductions  []offer // typings to be set when all objects were examined
	temporaries []temporary
}

type offer struct {
	obj uint32
	ty  typing.Typing
}

func addOffer(list []offer, obj uint32, ty typing.Typing) []offer {
	return append(list, offer{obj, ty})
}

// maxWalks is how often the memory with pointers may be walked to find types, on average, and
// minWalk is how many bytes may be walked in any case. Two or three walks are usual; in a damaged
// heap an object could get as many typings as it has references.
const (
	maxWalks = 64
	minWalk  = 1 << 24
)

// inferred is the types of a heap. The caller has to free its typings.
type inferred struct {
	Live      *live.Live
	Typings   typing.Table
	Anonymous *typing.AnonymousSet
	Confused  bool // the inference gave up, since types led to ever more walks
}

// inferTypes types the objects, and marks those that are alive on the way: a round that walks an
// object by its type marks what its mask leads to, while the object is in the processor's cache.
// Types decide which objects are marked sooner, but not which are marked. It ends because every
// change of an object's typing is an improvement in a strict order (typing.Better).
//
//go:norace
func inferTypes(types *heaptype.Table, data *typing.Segments, timers *Timers, o Options) (*inferred, error) {
	m := types.Model
	marking, err := live.Begin(m, data, o.Workers)
	if err != nil {
		return nil, err
	}
	out := &inferred{Live: marking.Live, Typings: typing.NewTable(m.NumObjects), Anonymous: typing.NewAnonymousSet(types)}
	done := false
	defer func() {
		if !done { // a damaged heap
			out.Typings.Free()
		}
	}()
	out.Typings.Touch()
	in := &inferrer{
		m: m, types: types, modules: o.Modules, data: data, out: out,
		round: objset.New(m.NumObjects), next: objset.New(m.NumObjects), limit: minWalk,
	}
	if in.dense = o.DenseRound; in.dense == 0 {
		in.dense = max(smallRound, int(m.NumObjects)/denseShare)
	}
	for i := range m.Spans {
		in.limit += maxWalks * len(m.Spans[i].Mem)
	}
	for i := range marking.Markers {
		by := &offerer{m: m, types: types, typings: out.Typings, in: in, vars: stackvar.New(types), marks: &marking.Markers[i]}
		by.batch = typing.Batch{M: m, Typings: out.Typings, Take: by.offer, Masks: true}
		by.w = heaptype.Walker{Types: types, Emit: by.batch.Adder()}
		if o.Workers > 1 {
			by.w.Aside = &heaptype.Aside{Sizes: o.Portions}
		}
		in.offerers = append(in.offerers, by)
	}

	first := in.offerers[0]
	for i := range data.Statics {
		if s := &data.Statics[i]; s.HeapType != nil {
			first.w.Value(s.HeapType, s.Mem, 0)
		}
	}
	in.share(len(marking.Stacks), func(o *offerer, i int) {
		o.vars.Walk(&marking.Stacks[i], func(v *stackvar.Var, _ string, e heaptype.Edge) { o.root(v, e) })
	})
	for _, s := range marking.Specials {
		first.special(s)
	}
	for i := range timers.List {
		timers.List[i].Edges(types, func(_ string, e heaptype.Edge) {
			if e.Type != nil {
				first.w.Emit(e)
			}
		})
	}
	in.drain()
	if err = marking.Finish(); err != nil {
		return nil, err
	}
	in.marked = true
	in.spans((*offerer).allocated)
	in.drain()
	in.typeTemporaries()
	in.deduce()
	out.Anonymous.Sort()
	done = true
	return out, nil
}

// spans calls look with each span; the goroutines share the spans.
func (in *inferrer) spans(look func(*offerer, *goruntime.Span)) {
	in.share(len(in.m.Spans), func(o *offerer, i int) { look(o, &in.m.Spans[i]) })
}

// batchSize is how many numbers a goroutine takes at once.
const batchSize = 64

// share calls look with each number below n; the goroutines share the numbers.
func (in *inferrer) share(n int, look func(*offerer, int)) {
	parallel.Share(len(in.offerers), n, batchSize, func(i int, mine iter.Seq[int]) {
		for k := range mine {
			look(in.offerers[i], k)
		}
	})
}

// drain runs rounds until nothing improves, or too much memory was walked.
func (in *inferrer) drain() {
	for objects := in.begin(); objects > 0 || len(in.statics) > 0; objects = in.begin() {
		walked := 0
		for _, o := range in.offerers {
			walked += o.w.Walked
		}
		if walked > in.limit {
			in.out.Confused = true
			return
		}
		o := in.offerers[0]
		for _, i := range in.statics {
			c := in.out.Anonymous.List[i]
			o.w.Object(in.types.At(c.Typing.Type), c.Typing.Layout, c.Mem, c.Addr)
		}
		in.statics = in.statics[:0]
		if in.isDense {
			in.walkTogether()
		} else {
			for _, list := range in.lists {
				o.walk(list)
			}
		}
		in.walkPortions()
	}
}

// walkPortions walks, in all goroutines, the portions that the walks of a round have set aside.
func (in *inferrer) walkPortions() {
	in.aside = in.aside[:0]
	for _, o := range in.offerers {
		in.aside = o.w.Aside.TakeAll(in.aside)
	}
	if len(in.aside) == 0 {
		return
	}
	parallel.Share(len(in.offerers), len(in.aside), 1, func(i int, mine iter.Seq[int]) {
		for k := range mine {
			in.offerers[i].w.Portion(&in.aside[k])
		}
	})
}

// begin ends a round and begins the next one. It returns how many objects the new round has, or
// enough of them to make it dense.
func (in *inferrer) begin() int {
	for _, o := range in.offerers {
		o.batch.Flush()
	}
	if in.isDense {
		clear(in.round)
	}
	for _, list := range in.lists {
		for _, obj := range list {
			in.round[obj>>6] = 0
		}
	}
	first := in.offerers[0]
	for _, o := range in.offerers {
		later := o.later
		for _, l := range later {
			first.set(l.obj, l.ty, in.m.SpanOf(l.obj))
		}
		o.later = later[:0]
		for i := range o.statics {
			if at, ok := in.out.Anonymous.Put(&o.statics[i]); ok {
				in.statics = append(in.statics, at)
			}
		}
		o.statics = o.statics[:0]
	}
	in.round, in.next = in.next, in.round
	in.lists = in.lists[:0]
	objects := 0
	for _, o := range in.offerers {
		if len(o.found) > 0 {
			in.lists = append(in.lists, o.found)
			objects += len(o.found)
		}
		o.found, o.spare = o.spare[:0], o.found
	}
	in.isDense = objects >= in.dense
	return objects
}

// smallRound is the number of objects in a round below which one goroutine walks them, since it
// takes longer to start more.
const smallRound = 1 << 11

// denseShare: if a round has at least one in so many of the heap's objects, searching the whole set
// for them is worth it.
const denseShare = 1 << 12

// walkTogether walks the objects of a round in all goroutines, in the order of addresses, in which
// the processor reads memory sooner.
func (in *inferrer) walkTogether() {
	parallel.Share(len(in.offerers), len(in.round), batchSize, func(i int, words iter.Seq[int]) {
		list := make([]uint32, 0, 64*batchSize)
		for k := range words {
			if cap(list)-len(list) < 64 {
				in.offerers[i].walk(list)
				list = list[:0]
			}
			for left := in.round[k]; left != 0; left &= left - 1 {
				list = append(list, uint32(64*k+bits.TrailingZeros64(left)))
			}
		}
		in.offerers[i].walk(list)
	})
}

//go:norace
func (o *offerer) walk(list []uint32) {
	for i, obj := range list {
		if i%goruntime.FetchAhead == 0 {
			next := list[i:min(i+goruntime.FetchAhead, len(list))]
			o.fetched += o.m.Fetch(next)
			for _, obj := range next {
				o.fetched += byte(o.typings.Fetch(obj))
			}
		}
		if o.walked++; o.walked%goruntime.ObjectsBetween == 0 {
			o.m.InTime()
		}
		s := o.m.SpanOf(obj)
		o.marks.Scan(s, obj)
		typing.WalkObject(&o.w, o.typings.Of(obj), s, obj)
	}
}

// allocated types the objects whose type the allocator recorded, and that no typed reference has
// reached.
//
//go:norace
func (o *offerer) allocated(s *goruntime.Span) {
	if s.NoScan || s.HasSmallMask() {
		return
	}
	for k := uint32(0); k < s.NElems; k++ {
		if obj := s.FirstObj + k; o.in.out.Live.Marked.Has(obj) {
			o.record(obj, s)
		}
	}
}

// record types an object by the allocator's record, unless it is typed so.
//
//go:norace
func (o *offerer) record(obj uint32, s *goruntime.Span) {
	if old, _ := o.typings.Load(obj); old.Confidence >= heaptype.FromAllocator {
		return
	}
	ty, ok := allocated(o.types, s, obj)
	switch {
	case !ok:
	case !o.types.At(ty.Type).IsGroup || s.ElemSize < manySlots:
		o.set(obj, ty, s)
	case o.in.marked:
		// The walk of its map walks the group, unless there is no such map.
		o.deductions = addOffer(o.deductions, obj, ty)
	}
}

// allocated is the typing of an object by the allocator's record. The allocator records the types
// of objects with pointers that are larger than 512 bytes.
func allocated(types *heaptype.Table, s *goruntime.Span, obj uint32) (ty typing.Typing, ok bool) {
	rt, start := types.Model.AllocatedType(s, obj)
	if rt == nil {
		return ty, false
	}
	t := types.ByDescriptor(rt.Addr)
	if t == nil {
		return ty, false
	}
	f := heaptype.LayoutValue
	if t.Size > 0 && s.ElemSize-start >= 2*t.Size {
		f = heaptype.LayoutArray
	}
	return typing.Typing{Type: t.Index, Layout: f, Grounds: typing.Grounds{Confidence: heaptype.FromAllocator, Full: true}}, true
}

// manySlots is from how many bytes on the groups of a map wait for the walk of the map.
const manySlots = 4096

func (o *offerer) special(s goruntime.Special) {
	tt := o.types
	fn := func(p uint64) {
		if p == 0 {
			return
		}
		if t := o.types.ClosureAt(p); t != nil {
			o.w.Emit(heaptype.Edge{To: p, Type: t, Layout: heaptype.LayoutClosure, Confidence: heaptype.FromDynamic})
		}
	}
	fn(s.Fn)
	fn(s.Call)
	if s.Kind != goruntime.Finalizer {
		o.w.Emit(o.types.Argument(s))
		return
	}
	ptr := o.m.Type(s.ObjectType)
	if ptr == nil {
		return
	}
	t := tt.ByDescriptor(ptr.Elem)
	if t == nil {
		return
	}
	if s.Obj != goruntime.NoObject {
		o.w.Emit(heaptype.Edge{To: s.Span.Addr(s.Obj), Type: t, Layout: heaptype.LayoutValue, Confidence: heaptype.FromDynamic})
	} else if s.Arg != 0 {
		o.w.Emit(heaptype.Edge{To: s.Arg, Type: t, Layout: heaptype.LayoutValue, Confidence: heaptype.FromDynamic})
	}
}
