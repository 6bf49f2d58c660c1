package heapgraph

import (
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
	"github.com/leakgate/leakgate/refscan/internal/offheap"
)

// A part is what some objects of one node refer to. References are kept in bundles of those that are alike, four bytes each. What leads to
// nothing that is left to claim is not kept.
type part struct {
	node         *Node
	bundles      []bundle // parts of maps and channels first, then in the order of the holder's references
	used, inline int64    // entries of maps, and those of them that lie in the tables whole
	entries      []mapCount
	at           int // the first bundle that is not claimed
	portion      int // from 1 on; 0 for what is of no portion
}

// A bundle is references that are the same one of their holders, to targets of one sort.
type bundle struct {
	bundleKey
	n     int      // length of words
	words []uint32 // numbers of objects and pieces; for tiny ones object and extent
}

// A bundleKey is what the references of a bundle have in common.
type bundleKey struct {
	ord  uint32
	typ  int32
	size uint64 // of each target
	form form
	kind refKind
	scan bool // the targets hold pointers
}

type refKind uint8

const (
	refPart   refKind = iota // of a map or channel, which belongs to its holder
	refObject                // an object
	refTiny                  // a value in a block of the tiny allocator
	refPiece                 // compiler-made data

	refEntries // no reference: entries that lie in a map's tables whole
	refNone    // an object that nothing led to
)

// mapCount is how many entries of a map lie in its tables whole.
type mapCount struct {
	obj uint32
	n   int64
}

// A gatherer follows the references of objects of one node after the other.
type gatherer struct {
	a        *attributor
	w        walker
	portions // large objects; of the part under way, node and guest
	batch    batch
	parts    []part
	words    offheap.Numbers
	all      []bundle // of all parts

	// Of the part under way:
	refs    []ref
	bundles []bundle
	last    [16]int32 // by reference: the bundle that one went to
	entries []mapCount
	fetched byte // see fetch
}

// A ref is one reference of the part under way.
type ref struct {
	bundle int32
	to     uint32
	extent uint32 // of tiny values: offset, and size << 8
}

// A part ends when it has so many references, so that its bundles fit into blocks of numbers, or so many bundles, since they are
// searched one by one.
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
func (w *gatherer) begin(n *Node) { w.node, w.guest = n, false }

// gather gathers from n objects of some runs, from the skip-th of the first run on.
func (w *gatherer) gather(runs []run, skip, n int) {
	w.begin(runs[0].node)
	for n > 0 {
		r := &runs[0]
		objs := r.objs[skip:min(len(r.objs), skip+n)]
		if r.node != w.node || r.guest != w.guest {
			w.batch.flush()
		}
		if r.node != w.node {
			w.seal()
			w.begin(r.node)
		}
		w.guest = r.guest
		w.walk(objs)
		n -= len(objs)
		runs, skip = runs[1:], 0
	}
	w.batch.flush()
	w.seal()
}

// gatherPortion makes a part of a portion.
func (w *gatherer) gatherPortion(p *portion, number int) {
	w.begin(p.node)
	w.guest = p.guest
	first := len(w.parts)
	w.w.portion(p)
	w.batch.flush()
	w.seal()
	for i := first; i < len(w.parts); i++ {
		w.parts[i].portion = number
	}
}

// walk gathers from objects of the node.
func (w *gatherer) walk(objs []uint32) {
	g := w.a.g
	for i, obj := range objs {
		if i%lookAhead == 0 {
			w.fetch(objs[i:min(i+lookAhead, len(objs))])
		}
		used, inline := w.w.used, w.w.inline
		g.references(&w.w, obj)
		switch {
		case w.guest:
			w.w.used, w.w.inline = used, inline
		case w.a.watch != nil && w.w.inline > inline:
			w.entries = append(w.entries, mapCount{obj, w.w.inline - inline})
		}
	}
}

// lookAhead is how many objects are fetched at a time.
const lookAhead = 16

// fetch reads a byte of each object, one right after the other, so that the processor waits for all of them at once and not for
// each in turn: a third of the time of walking objects that are in no cache.
func (w *gatherer) fetch(objs []uint32) {
	g := w.a.g
	for _, obj := range objs {
		if obj < g.staticBase() {
			s := g.m.SpanOf(obj)
			w.fetched += s.Mem[uint64(obj-s.FirstObj)*s.ElemSize] + byte(g.typing[obj])
		}
	}
}

// take takes a reference.
func (w *gatherer) take(e *edge, s *goruntime.Span, obj uint32) {
	g := w.a.g
	if w.guest && e.ord != ordInternal {
		e.ord = ordUnknown
	}
	switch {
	case s == nil:
		if e.ord != ordInternal && len(g.pieces) > 0 {
			w.piece(*e)
		}
	case e.ord == ordInternal:
		if w.a.open.has(obj) {
			w.add(bundleKey{kind: refPart, size: s.ElemSize}, obj, 0)
		}
	case s.Tiny:
		w.small(e, s, obj)
	default:
		w.object(e.ord, s, obj)
	}
}

// object takes a reference to an object.
func (w *gatherer) object(ord uint32, s *goruntime.Span, obj uint32) {
	if !w.a.open.has(obj) {
		return
	}
	ty := w.a.g.typing.of(obj)
	if ty.form == formInternal && w.a.phase < classRest {
		return // its map or channel will claim it
	}
	w.add(bundleKey{ord: ord, typ: ty.typ, form: ty.form, kind: refObject, size: s.ElemSize, scan: !s.NoScan}, obj, 0)
}

// small takes a reference to a value in a block of the tiny allocator.
func (w *gatherer) small(e *edge, s *goruntime.Span, obj uint32) {
	off := uint32(e.to - s.Addr(obj))
	if !w.a.g.marked.has(obj) || w.a.tiny.at(obj).starts>>off&1 != 0 {
		return
	}
	size := 16 - off
	if e.size != 0 && e.size < uint64(size) {
		size = uint32(e.size)
	}
	key := bundleKey{ord: e.ord, kind: refTiny}
	if e.typ != nil && !e.typ.HasPointers() {
		key.typ, key.form = e.typ.index, e.form
	}
	w.add(key, obj, off|size<<8)
}

// piece takes a reference to compiler-made data. Variables are roots of their own.
func (w *gatherer) piece(e edge) {
	g := w.a.g
	i, known := g.pieceAt[e.to]
	if obj := g.staticBase() + uint32(i); known && w.a.open.has(obj) {
		ty := g.pieces[i].typing
		w.add(bundleKey{ord: e.ord, typ: ty.typ, form: ty.form, kind: refPiece, scan: true}, obj, 0)
	}
}

func (w *gatherer) add(key bundleKey, to, extent uint32) {
	last := &w.last[key.ord%uint32(len(w.last))]
	b := *last
	if int(b) >= len(w.bundles) || w.bundles[b].bundleKey != key {
		b = w.bundle(&key)
		*last = b
	}
	w.bundles[b].n++
	if key.kind == refTiny {
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

// seal finishes the part under way; another one of the node may follow.
func (w *gatherer) seal() {
	if len(w.refs) == 0 && w.w.used == 0 {
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
		if b.kind == refTiny {
			b.words = append(b.words, r.extent)
		}
	}
	// They are few, and most often in order already.
	for i := range bundles {
		for k := i; k > 0 && bundles[k].before(&bundles[k-1]); k-- {
			bundles[k], bundles[k-1] = bundles[k-1], bundles[k]
		}
	}
	w.parts = append(w.parts, part{w.node, bundles, w.w.used, w.w.inline, w.entries, 0, 0})
	w.bundles, w.refs, w.entries = w.bundles[:0], w.refs[:0], nil
	w.w.used, w.w.inline = 0, 0
}

func (b *bundle) before(other *bundle) bool {
	if b.kind == refPart || other.kind == refPart {
		return b.kind < other.kind
	}
	return b.ord < other.ord
}
