package attribute

import (
	"math"

	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// A part holds the references of some objects of one node, in bundles of like references, four
// bytes each. References whose targets are claimed already are not kept.
type part struct {
	node *Node
	// parts of maps and channels first, then in the order of the holder's references
	bundles      []bundle
	used, inline int64 // entries of maps, and those of them that the tables hold whole
	entries      []mapCount
	at           int // the first bundle that is not claimed
	portion      int // number of the portion, from 1 on; 0: the part is of no portion
}

// A bundle is a list of references with the same number in their holders, to targets of one sort.
type bundle struct {
	bundleKey
	n int // length of words
	// numbers of objects and of anonymous static data; pairs of object and extent for tiny values,
	// pairs of object and room for slices and strings with room
	words []uint32
}

// A bundleKey is what the references of a bundle have in common.
type bundleKey struct {
	ref    uint32
	typ    int32
	size   uint64 // of each target
	layout heaptype.Layout
	kind   Kind
	scan   bool // the targets hold pointers
	held   hold
	// the references lie in elements outside the length of the slices that hold the array
	outside bool
}

// hold is how references hold their targets; targets of lower values are claimed first.
type hold uint8

const (
	withRoom hold = 1 << iota // slices and strings that leave room behind them, see room
	inPart                    // slices or strings that leave out a part of the array or block
)

// Kind is a sort of claim.
type Kind uint8

const (
	KindPart      Kind = iota // of a map or channel, which belongs to its holder
	KindObject                // an object
	KindTiny                  // a value in a block of the tiny allocator
	KindAnonymous             // compiler-made data

	KindEntries // no reference: entries that a map's tables hold whole
	KindNone    // an object that no reference led to
)

// mapCount is how many entries the tables of one map hold whole.
type mapCount struct {
	obj uint32
	n   int64
}

// A gatherer collects the references of objects, node by node.
type gatherer struct {
	a       *attributor
	w       heaptype.Walker
	owner                  // of the part being gathered
	aside   heaptype.Aside // portions of large objects
	outside bool           // see bundleKey
	extents []extent       // of slices, and of other references to arrays that are held in part
	tooMany bool           // extents has no room for all plain blocks
	owners  []owner        // of each portion in aside.List
	batch   typing.Batch
	parts   []part
	words   offheap.Numbers
	all     []bundle // of all parts

	// Of the part under way:
	refs    []ref
	bundles []bundle
	last    [16]int32 // by number of the reference, modulo its length: the bundle last used
	entries []mapCount
	fetched byte   // see fetch
	walked  uint32 // objects so far
}

// An owner is a node, or the typeless ones among its objects (see run), and the task that gathers
// from them.
type owner struct {
	node     *Node
	typeless bool
	task     int
}

// setAside is a portion of a large object, with its owner.
type setAside struct {
	heaptype.Portion
	owner owner
}

// takeAside moves the gatherer's portions to the end of a list.
func (w *gatherer) takeAside(list []setAside) []setAside {
	for i, o := range w.owners {
		list = append(list, setAside{w.aside.List[i], o})
	}
	w.aside.List, w.owners = w.aside.List[:0], w.owners[:0]
	return list
}

// A ref is one reference of the part under way.
type ref struct {
	bundle int32
	to     uint32
	extent uint32 // of tiny values: offset, and size << 8; of slices: bytes of room
}

// A part ends at maxRefs references, so that its bundles fit into blocks of numbers, or at
// maxBundles bundles, since bundle searches them one by one.
const (
	maxRefs    = offheap.BlockLen / 4
	maxBundles = 64
)

// reset forgets all parts.
func (w *gatherer) reset() {
	w.parts, w.all = w.parts[:0], w.all[:0]
	w.words.Reset()
}

// begin begins the part of a node.
func (w *gatherer) begin(n *Node) { w.node, w.typeless = n, false }

// gather gathers from n objects of some runs, from the skip-th of the first run on.
//
//go:norace
func (w *gatherer) gather(runs []run, skip, n int) {
	w.begin(runs[0].node)
	for n > 0 {
		r := &runs[0]
		objs := r.objs[skip:min(len(r.objs), skip+n)]
		if r.node != w.node || r.typeless != w.typeless {
			w.batch.Flush()
		}
		if r.node != w.node {
			w.seal()
			w.begin(r.node)
		}
		w.typeless = r.typeless
		w.walk(objs)
		n -= len(objs)
		runs, skip = runs[1:], 0
	}
	w.batch.Flush()
	w.seal()
}

// gatherPortion makes a part of a portion.
func (w *gatherer) gatherPortion(p *setAside, number int) {
	w.begin(p.owner.node)
	w.typeless = p.owner.typeless
	first := len(w.parts)
	w.w.Portion(&p.Portion)
	w.batch.Flush()
	w.seal()
	for i := first; i < len(w.parts); i++ {
		w.parts[i].portion = number
	}
}

// walk gathers from objects of the node.
//
//go:norace
func (w *gatherer) walk(objs []uint32) {
	h := w.a.heap
	for i, obj := range objs {
		if i%lookAhead == 0 {
			w.fetch(objs[i:min(i+lookAhead, len(objs))])
		}
		if w.walked++; w.walked%goruntime.ObjectsBetween == 0 {
			h.Model.InTime()
		}
		used, inline := w.w.Entries, w.w.InlineEntries
		if w.a.partials.has(obj) {
			w.walkPartial(obj)
		} else {
			h.References(&w.w, obj)
		}
		switch {
		case w.typeless:
			w.w.Entries, w.w.InlineEntries = used, inline
		case w.a.watch != nil && w.w.InlineEntries > inline:
			w.entries = append(w.entries, mapCount{obj, w.w.InlineEntries - inline})
		}
	}
	for len(w.owners) < len(w.aside.List) {
		w.owners = append(w.owners, w.owner)
	}
}

// lookAhead is how many objects are fetched at a time.
const lookAhead = 16

// fetch reads a byte of each object, one right after the other, so that the processor waits for all
// of them at once and not for each in turn: a third of the time of walking objects that are in no
// cache.
//
//go:norace
func (w *gatherer) fetch(objs []uint32) {
	h := w.a.heap
	for _, obj := range objs {
		if obj < h.AnonymousBase() {
			s := h.Model.SpanOf(obj)
			w.fetched += s.Mem[uint64(obj-s.FirstObj)*s.ElemSize] + byte(h.Typings.Fetch(obj))
		}
	}
}

// take adds a reference to the part under way; s and obj are the heap object it leads to, s nil if
// none.
//
//go:norace
func (w *gatherer) take(e *heaptype.Edge, s *goruntime.Span, obj uint32) {
	h := w.a.heap
	if w.typeless && e.Ref != heaptype.RefInternal {
		e.Ref = heaptype.RefUnknown
	}
	switch {
	case s == nil:
		if e.Ref != heaptype.RefInternal && len(h.Anonymous.List) > 0 {
			w.anonymous(*e)
		}
	case e.Ref == heaptype.RefInternal:
		if w.a.unclaimed.Has(obj) {
			w.add(bundleKey{kind: KindPart, size: s.ElemSize}, obj, 0)
		}
	case s.Tiny:
		w.small(e, s, obj)
	case w.a.unclaimed.Has(obj):
		held, room := w.holds(e, s, obj)
		w.object(e.Ref, s, obj, held, room)
	case w.a.partials.has(obj):
		w.noteFurtherReference(e, s, obj)
	}
}

// holds returns how a reference holds an object, and the room that it leaves there.
//
//go:norace
func (w *gatherer) holds(e *heaptype.Edge, s *goruntime.Span, obj uint32) (held hold, room uint32) {
	if e.Slack != 0 || s.ElemSize >= minRoomed {
		if room = w.room(e, s, obj); room > 0 {
			held = withRoom
		}
	}
	switch {
	case s.NoScan:
		if s.ElemSize >= minPlain && w.reachesLittle(e, s, obj) {
			held |= inPart
		}
	case e.Layout == heaptype.LayoutArray && (e.Slack != 0 || e.To != s.Addr(obj)):
		if w.leavesOut(e, s, obj) {
			held |= inPart
		}
	}
	return held, room
}

// minRoomed is the size in bytes of the blocks from which on the room counts that a size class
// adds: an operation that makes a string longer with each call can take thousands of calls to the
// next class (go1.26 and go1.27 internal/runtime/gc/sizeclasses.go: 128 bytes to 8 KiB further).
const minRoomed = 1 << 10

// room is how many bytes at the end of its block a slice or string leaves for further elements: up
// to the capacity and, in a block of minRoomed bytes or more, up to the end of the block. A string,
// or a slice that is copied to an array of its exact length, gets longer there without another size
// of its block.
//
//go:norace
func (w *gatherer) room(e *heaptype.Edge, s *goruntime.Span, obj uint32) uint32 {
	x, ok := w.reached(e, s, obj)
	if !ok {
		return 0
	}
	left := x.capEnd - x.hi
	if s.ElemSize < minRoomed || left < e.Type.Size {
		left = min(left, uint64(e.Slack)*e.Type.Size) // words that are no slice may say more
	}
	return uint32(min(left, math.MaxUint32))
}

// object adds a reference to a heap object; room is that of the slice, in bytes.
//
//go:norace
func (w *gatherer) object(ref uint32, s *goruntime.Span, obj uint32, held hold, room uint32) {
	if !w.a.unclaimed.Has(obj) {
		return
	}
	ty := w.a.heap.Typings.Of(obj)
	if ty.Layout == heaptype.LayoutInternal && w.a.phase < root.ClassRest {
		return // its map or channel will claim it
	}
	w.add(bundleKey{ref: ref, typ: ty.Type, layout: ty.Layout, kind: KindObject, size: s.ElemSize, scan: !s.NoScan, held: held}, obj, room)
}

// small adds a reference to a value in a block of the tiny allocator.
//
//go:norace
func (w *gatherer) small(e *heaptype.Edge, s *goruntime.Span, obj uint32) {
	off := uint32(e.To - s.Addr(obj))
	if !w.a.heap.Live.Marked.Has(obj) || w.a.tiny.At(obj).Starts>>off&1 != 0 {
		return
	}
	size := 16 - off
	if e.Size != 0 && e.Size < uint64(size) {
		size = uint32(e.Size)
	}
	key := bundleKey{ref: e.Ref, kind: KindTiny}
	if e.Type != nil && !e.Type.HasPointers() {
		key.typ, key.layout = e.Type.Index, e.Layout
	}
	w.add(key, obj, off|size<<8)
}

// anonymous adds a reference to anonymous static data. Variables are roots of their own.
//
//go:norace
func (w *gatherer) anonymous(e heaptype.Edge) {
	h := w.a.heap
	if i, known := h.Anonymous.At(e.To); known {
		w.data(e.Ref, h.AnonymousBase()+uint32(i))
	}
}

// data adds a reference to anonymous static data by its number.
func (w *gatherer) data(ref, obj uint32) {
	if h := w.a.heap; w.a.unclaimed.Has(obj) {
		ty := h.Anonymous.List[obj-h.AnonymousBase()].Typing
		w.add(bundleKey{ref: ref, typ: ty.Type, layout: ty.Layout, kind: KindAnonymous, scan: true}, obj, 0)
	}
}

//go:norace
func (w *gatherer) add(key bundleKey, to, extent uint32) {
	key.outside = w.outside
	last := &w.last[key.ref%uint32(len(w.last))]
	b := *last
	if int(b) >= len(w.bundles) || w.bundles[b].bundleKey != key {
		b = w.bundle(&key)
		*last = b
	}
	w.bundles[b].n++
	if key.kind == KindTiny || key.held&withRoom != 0 {
		w.bundles[b].n++
	}
	w.refs = append(w.refs, ref{b, to, extent})
	if len(w.refs) == maxRefs {
		w.seal()
	}
}

// bundle returns the index of the bundle with a key.
func (w *gatherer) bundle(key *bundleKey) int32 {
	for i := range w.bundles {
		if w.bundles[i].bundleKey == *key {
			return int32(i)
		}
	}
	if len(w.bundles) == maxBundles {
		w.seal()
	}
	w.bundles = append(w.bundles, bundle{bundleKey: *key})
	return int32(len(w.bundles) - 1)
}

// seal finishes the part under way; another part of the node may follow.
func (w *gatherer) seal() {
	if len(w.refs) == 0 && w.w.Entries == 0 {
		return
	}
	first := len(w.all)
	w.all = append(w.all, w.bundles...)
	bundles := w.all[first:]
	for i := range bundles {
		bundles[i].words = w.words.Take(bundles[i].n)[:0]
	}
	for _, r := range w.refs {
		b := &bundles[r.bundle]
		b.words = append(b.words, r.to)
		if b.step() == 2 {
			b.words = append(b.words, r.extent)
		}
	}
	// Bundles are few, and most often in order already.
	for i := range bundles {
		for k := i; k > 0 && bundles[k].before(&bundles[k-1]); k-- {
			bundles[k], bundles[k-1] = bundles[k-1], bundles[k]
		}
	}
	w.parts = append(w.parts, part{w.node, bundles, w.w.Entries, w.w.InlineEntries, w.entries, 0, 0})
	w.bundles, w.refs, w.entries = w.bundles[:0], w.refs[:0], nil
	w.w.Entries, w.w.InlineEntries = 0, 0
}

func (b *bundle) before(other *bundle) bool {
	if b.kind == KindPart || other.kind == KindPart {
		return b.kind < other.kind
	}
	return b.order() < other.order()
}

// step is how many words each reference takes.
func (k *bundleKey) step() int {
	if k.kind == KindTiny || k.held&withRoom != 0 {
		return 2
	}
	return 1
}

// order is the sort key of bundles for claims. References in elements outside the length of their
// slices come last. Among those with one number, targets held as a whole precede targets held in
// part, and slices without room precede slices with room.
func (b *bundleKey) order() uint64 {
	o := uint64(b.ref)<<2 | uint64(b.held)
	if b.outside {
		o |= 1 << 34
	}
	return o
}
