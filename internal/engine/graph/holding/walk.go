package holding

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/graph/edges"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
)

// A walk finds references with their links. It leaves out values that share a block, and the tables
// of maps and channels: these belong to whoever holds the map or channel.
type walk struct {
	*edges.Walk
	h      *typedheap.Heap
	laid   *edges.Graph // nil: objects are walked
	holder typing.Typing
	typ    *heaptype.Type
	visit  func(to uint32, l heaptype.Link)
	// of the last reference: it leads from node to node of a list or tree
	recurs bool
}

func newWalk(h *typedheap.Heap) *walk {
	w := &walk{h: h}
	w.Walk = edges.NewWalk(h, w.edge)
	return w
}

// Marks of edges.
const (
	crosses = edges.Mark1
	element = edges.Mark2
	recurs  = edges.Mark3
)

// lay lays out the references of all objects.
func (w *walk) lay() {
	var by *edges.Writer
	visit := func(to uint32, l heaptype.Link) {
		if l.Crosses {
			to |= crosses
		}
		if l.Element {
			to |= element
		}
		if w.recurs {
			to |= recurs
		}
		by.Edge(to)
	}
	w.laid = edges.Lay(w.h, func(writer *edges.Writer, node uint32) {
		by = writer
		w.object(node, visit)
	})
}

// object visits the references of an object or of anonymous static data.
//
//go:norace
func (w *walk) object(obj uint32, visit func(to uint32, l heaptype.Link)) {
	if w.laid != nil {
		for _, e := range w.Laid(w.laid, obj) {
			w.recurs = e&recurs != 0
			visit(e&^(edges.Marks|edges.Last), heaptype.Link{Crosses: e&crosses != 0, Element: e&element != 0})
			if e&edges.Last != 0 {
				break
			}
		}
		return
	}
	if obj < w.h.AnonymousBase() && w.h.Model.SpanOf(obj).NoScan {
		return
	}
	w.holder = w.TypingOf(obj)
	w.typ, w.visit = w.h.Types.At(w.holder.Type), visit
	w.From(obj)
}

//go:norace
func (w *walk) edge(e heaptype.Edge) {
	if e.Ref == heaptype.RefInternal {
		return
	}
	if to, ok := w.Target(e.To); ok && !to.Tiny {
		l := heaptype.LinkOf(w.typ, w.holder.Layout, e.Ref)
		l.Crosses = l.Crosses || e.Inner
		w.visit(to.Node, w.join(l, to.Typing.Type))
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

// root visits the references of a root.
func (w *walk) root(r *root.Entry, visit func(to uint32, l heaptype.Link)) {
	w.holder, w.typ = typing.Typing{}, nil
	for i := range r.Edges {
		e := &r.Edges[i]
		if to, ok := w.Target(e.To); ok && !to.Tiny {
			ref := e.Reference(w.h.Types)
			l := heaptype.LinkOfRoot(r.Label(e), ref.Layout)
			l.Crosses = l.Crosses || ref.Inner
			visit(to.Node, w.join(l, to.Typing.Type))
		}
	}
}

// findElements finds the objects that are elements of some container. The nodes of a list or tree
// are elements, the first of them included.
//
//go:norace
func (x *Heap) findElements() {
	x.elements = objset.New(x.heap.NumNodes())
	w := x.walk
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
