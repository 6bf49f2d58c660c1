package attribute

import (
	"math"

	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// An extent is the range of an array's elements within the length of a slice, from lo to hi, as
// offsets in bytes from the array's first element. The slice's capacity ends at capEnd. In a plain
// block, which holds no pointers, it is the range of bytes that a slice or string reaches, from the
// block's start, and capEnd is the block's size.
type extent struct {
	obj            uint32
	plain          bool
	lo, hi, capEnd uint64
}

const (
	// Plain blocks count if they have at least minPlain bytes, and a slice or string reaches at
	// most one byte in plainShare: room that append leaves is not worth reporting.
	minPlain   = 256
	plainShare = 4
	// maxPlain bounds the number of plain blocks in partials, and so its memory. If there are more,
	// no node reports unreached bytes, so that the report does not depend on the order.
	maxPlain        = 1 << 17
	maxPlainExtents = 8 * maxPlain
)

// everything is the extent of a reference that is no slice, or whose range is unknown.
func everything(obj uint32) extent { return extent{obj: obj, hi: math.MaxUint64} }

// within reports whether all elements of x are in y.
func (x *extent) within(y *extent) bool { return y.lo <= x.lo && x.hi <= y.hi }

// A partialArray is an array that is held by slices which do not reach all its elements. The extent
// encloses those of all slices that were gathered before the array was charged to the node.
type partialArray struct {
	extent
	node *Node // nil until it is charged
}

// partials are the arrays with elements outside the length of the slices that hold them. The
// targets of these elements are claimed after those of the other elements, and counted
// (Figures.Beyond). The bytes of plain blocks that no slice or string reaches are added up
// (Figures.UnreachedBytes). If a reference found later reaches further, the array's node reports no
// such numbers, and the plain block does not count.
type partials struct {
	arrays  map[uint32]*partialArray
	charged objset.Set // arrays that have a node; nil if there are none
	plain   int        // plain blocks in arrays
	tooMany bool       // there are more than maxPlain plain blocks
}

// unreached is how many bytes of a plain block lie outside of the extent.
func (x *extent) unreached() int64 { return int64(x.capEnd - (x.hi - x.lo)) }

// has reports whether an object is an array that was charged to a node as a partial one.
func (p *partials) has(obj uint32) bool { return p.charged != nil && p.charged.Has(obj) }

// see merges the extents that the gatherers noted, before anything is claimed for them. The order
// does not matter.
func (p *partials) see(workers []*gatherer) {
	for _, w := range workers {
		for _, x := range w.extents {
			switch a := p.arrays[x.obj]; {
			case a == nil && x.plain && p.plain == maxPlain:
				p.tooMany = true
			case a == nil:
				if p.arrays == nil {
					p.arrays = make(map[uint32]*partialArray)
				}
				p.arrays[x.obj] = &partialArray{extent: x}
				if x.plain {
					p.plain++
				}
			case a.node == nil:
				a.lo, a.hi, a.capEnd = min(a.lo, x.lo), max(a.hi, x.hi), max(a.capEnd, x.capEnd)
			case !x.within(&a.extent):
				p.doubt(x.obj)
			}
		}
		p.tooMany = p.tooMany || w.tooMany
		w.extents = w.extents[:0]
	}
}

// doubt notes that a reference reaches further into an array than was known when it was charged.
func (p *partials) doubt(obj uint32) {
	a := p.arrays[obj]
	if !a.plain {
		a.node.unsure = true
		return
	}
	a.node.UnreachedBytes -= a.unreached()
	a.lo, a.hi = 0, a.capEnd
}

// charge notes the node that an array is charged to.
func (p *partials) charge(n *Node, obj, objects uint32, size uint64) {
	a := p.arrays[obj]
	if a == nil {
		return // beyond maxPlain
	}
	if p.charged == nil {
		p.charged = objset.New(objects)
	}
	p.charged.Add(obj)
	a.node = n
	if a.plain {
		n.UnreachedBytes += a.unreached()
		return
	}
	n.Len += int64((a.hi - a.lo) / size)
	n.Cap += int64(a.capEnd / size)
}

// repeats reports whether a root reference repeats an earlier one: it is a word of a package
// variable, whose words are roots again after everything else is charged, and the first time the
// variable led to the array as a slice.
func (a *attributor) repeats(r *root.Entry, re *root.Edge) bool {
	if re.From != root.FromWord || r.Type == "" || a.partials.charged == nil {
		return false
	}
	s, obj := a.heap.Model.Object(re.To)
	if s == nil || !a.partials.has(obj) {
		return false
	}
	n := a.partials.arrays[obj].node
	return n.Top().Name == r.Name && (n.parent == nil || n.parent.parent == nil)
}

// settle clears the numbers of nodes that are not certain for all their arrays.
func (p *partials) settle() {
	for _, a := range p.arrays {
		switch {
		case a.node == nil:
			continue
		case a.plain && p.tooMany:
			a.node.UnreachedBytes = 0
			continue
		case a.plain || !a.node.unsure:
			continue
		}
		a.node.Len, a.node.Cap = 0, 0
		for _, c := range a.node.kids {
			c.Beyond = 0
		}
	}
}

// extent returns which elements of an array a reference holds; false if it is no slice of the
// array.
func (w *gatherer) extent(e *heaptype.Edge, s *goruntime.Span, obj uint32) (x extent, mem []byte, ok bool) {
	if w.typeless {
		return x, nil, false
	}
	slice, mem, ok := w.a.heap.SliceOf(e, s, obj)
	return extent{obj: obj, lo: slice.Start, hi: slice.End, capEnd: slice.CapEnd}, mem, ok
}

// leavesOut reports whether a slice leaves out elements of its array that hold references. It reads
// only the first reference of the elements right before and right behind the slice's length: both
// are nil in most arrays.
func (w *gatherer) leavesOut(e *heaptype.Edge, s *goruntime.Span, obj uint32) bool {
	x, mem, ok := w.extent(e, s, obj)
	if !ok || s.NoScan || !e.Type.HasPointers() {
		return false
	}
	at, size := e.Type.Ops[0].Offset, e.Type.Size
	if (x.lo < size || heaptype.Word(mem, x.lo-size+at) == 0) && (x.hi == x.capEnd || heaptype.Word(mem, x.hi+at) == 0) {
		return false
	}
	w.extents = append(w.extents, x)
	return true
}

// reached returns which bytes of a block without pointers a slice or string reaches; false for
// other references.
func (w *gatherer) reached(e *heaptype.Edge, s *goruntime.Span, obj uint32) (x extent, ok bool) {
	n := e.Size
	switch {
	case w.typeless || e.Type == nil:
		return x, false
	case e.Layout == heaptype.LayoutArray:
		n -= min(n, uint64(e.Slack)*e.Type.Size)
	case e.Layout != heaptype.LayoutString:
		return x, false
	}
	x = extent{obj: obj, plain: true, lo: e.To - s.Addr(obj), capEnd: s.ElemSize}
	x.hi = x.lo + n
	return x, x.lo <= x.hi && x.hi <= x.capEnd
}

// reachesLittle reports whether a reference is a slice or string that reaches little of a large
// block without pointers.
func (w *gatherer) reachesLittle(e *heaptype.Edge, s *goruntime.Span, obj uint32) bool {
	x, ok := w.reached(e, s, obj)
	if !ok || x.hi-x.lo > x.capEnd/plainShare {
		return false
	}
	if len(w.extents) < maxPlainExtents {
		w.extents = append(w.extents, x)
	} else {
		w.tooMany = true
	}
	return true
}

// noteFurtherReference notes a further reference to an array that was charged as a partial one.
func (w *gatherer) noteFurtherReference(e *heaptype.Edge, s *goruntime.Span, obj uint32) {
	var x extent
	var ok bool
	if s.NoScan {
		x, ok = w.reached(e, s, obj)
	} else {
		x, _, ok = w.extent(e, s, obj)
	}
	if !ok {
		x = everything(obj)
	}
	w.extents = append(w.extents, x)
}

// walkPartial gathers from an array that slices hold in part.
func (w *gatherer) walkPartial(obj uint32) {
	h := w.a.heap
	ty := h.Typings.Of(obj)
	t, a := h.Types.At(ty.Type), w.a.partials.arrays[obj]
	mem, _ := heaptype.Payload(h.Model.SpanOf(obj), obj)
	mem = mem[ty.Offset:]
	w.w.Walked += len(mem)
	for _, r := range [...]struct {
		from, to uint64
		outside  bool
	}{{a.lo, a.hi, false}, {0, a.lo, true}, {a.hi, uint64(len(mem)), true}} {
		w.batch.Flush()
		w.outside = r.outside
		w.w.Elements(t, mem[r.from:r.to], r.from/t.Size)
	}
	w.batch.Flush()
	w.outside = false
}
