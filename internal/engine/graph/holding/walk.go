package holding

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// A walk finds references with their links. It leaves out values that share a block, and the tables
// of maps and channels: these belong to whoever holds the map or channel.
type walk struct {
	h      *typedheap.Heap
	w      heaptype.Walker
	holder typing.Typing
	typ    *heaptype.Type
	visit  func(to uint32, l heaptype.Link)
	// of the last reference: it leads from node to node of a list or tree
	recurs bool
	walked uint32 // objects so far
}

func newWalk(h *typedheap.Heap) *walk {
	w := &walk{h: h}
	w.w = heaptype.Walker{Types: h.Types, Emit: w.edge}
	return w
}

// object visits the references of an object or of anonymous static data.
//
//go:norace
func (w *walk) object(obj uint32, visit func(to uint32, l heaptype.Link)) {
	if w.walked++; w.walked%goruntime.ObjectsBetween == 0 {
		w.h.Model.InTime()
	}
	if obj < w.h.AnonymousBase() {
		if w.h.Model.SpanOf(obj).NoScan {
			return
		}
		w.holder = w.h.Typings.Of(obj)
	} else {
		w.holder = w.h.Anonymous.List[obj-w.h.AnonymousBase()].Typing
	}
	w.typ, w.visit = w.h.Types.At(w.holder.Type), visit
	w.h.References(&w.w, obj)
}

//go:norace
func (w *walk) edge(e heaptype.Edge) {
	if e.Ref == heaptype.RefInternal {
		return
	}
	if to, t, ok := w.target(e.To); ok {
		l := heaptype.LinkOf(w.typ, w.holder.Layout, e.Ref)
		l.Crosses = l.Crosses || e.Inner
		w.visit(to, w.join(l, t))
	}
}

// join turns a link that crosses into one that joins where it leads from node to node of a list or
// tree, or lies in a container of the standard library.
func (w *walk) join(l heaptype.Link, target int32) heaptype.Link {
	w.recurs = l.Crosses && w.typ != nil && target == w.typ.Index
	if !l.Crosses || target == 0 {
		return l
	}
	switch t := w.h.Types.At(target); {
	case w.recurs, w.typ != nil && w.typ.Joins() && !t.Joins():
		return heaptype.Link{Element: true}
	case t.Joins():
		return heaptype.Link{Element: l.Element}
	}
	return l
}

// target returns the object or anonymous static data at an address, and its type.
//
//go:norace
func (w *walk) target(addr uint64) (obj uint32, typ int32, ok bool) {
	s, obj := w.h.Model.Object(addr)
	if s == nil {
		i, known := w.h.Anonymous.At(addr)
		if !known {
			return 0, 0, false
		}
		return w.h.AnonymousBase() + uint32(i), w.h.Anonymous.List[i].Typing.Type, true
	}
	ty := w.h.Typings.Of(obj)
	return obj, ty.Type, !s.Tiny && w.h.Live.Marked.Has(obj) && ty.Layout != heaptype.LayoutInternal
}

// root visits the references of a root.
func (w *walk) root(r *root.Entry, visit func(to uint32, l heaptype.Link)) {
	w.holder, w.typ = typing.Typing{}, nil
	for i := range r.Edges {
		e := &r.Edges[i]
		if to, t, ok := w.target(e.To); ok {
			ref := e.Reference(w.h.Types)
			l := heaptype.LinkOfRoot(r.Label(e), ref.Layout)
			l.Crosses = l.Crosses || ref.Inner
			visit(to, w.join(l, t))
		}
	}
}

// findElements finds the objects that are elements of some container. The nodes of a list or tree
// are elements, the first of them included.
//
//go:norace
func (x *Heap) findElements() {
	x.elements = objset.New(x.heap.NumNodes())
	w := newWalk(x.heap)
	var holder uint32
	note := func(to uint32, l heaptype.Link) {
		if l.Element && !l.Crosses {
			x.elements.Add(to)
		}
		if w.recurs {
			x.elements.Add(holder)
		}
	}
	for _, r := range x.roots {
		w.root(r, note)
	}
	for i, left := range x.heap.Live.Marked {
		for ; left != 0; left &= left - 1 {
			if obj := uint32(64*i + bits.TrailingZeros64(left)); obj < x.heap.AnonymousBase() {
				holder = obj
				w.object(obj, note)
			}
		}
	}
	for i := range x.heap.Anonymous.List {
		holder = x.heap.AnonymousBase() + uint32(i)
		w.object(holder, note)
	}
}
