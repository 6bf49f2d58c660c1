package edges

import (
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// maxNodes is how many nodes Lay can number beside marks.
const maxNodes = Mark1

// Lay lays out the references of each object, and of anonymous static data: from visits a node's
// references, and calls Edge for those that count. Parts of maps and channels have no list, since
// they belong to whoever holds the map or channel. Lay returns nil if there is no memory for that,
// with as much to spare: who asks then walks instead.
//
//go:norace
func Lay(h *typedheap.Heap, from func(w *Writer, node uint32)) (laid *Graph) {
	nodes := uint64(h.NumNodes())
	room := nodes + nodes/2
	if nodes > maxNodes || !offheap.Fits(2*4*int64(nodes+room)) {
		return nil
	}
	g, ok := New(nodes, room)
	if !ok {
		return nil
	}
	defer func() {
		if laid == nil {
			g.Release()
		}
	}()
	w := Writer{Graph: g}
	for i := range h.Model.Spans {
		s := &h.Model.Spans[i]
		for obj := s.FirstObj; !s.NoScan && obj < s.FirstObj+s.NElems; obj++ {
			if h.Live.Marked.Has(obj) && h.Typings.Of(obj).Layout != heaptype.LayoutInternal {
				w.list(obj, from)
			}
		}
	}
	for node := h.AnonymousBase(); node < h.NumNodes(); node++ {
		w.list(node, from)
	}
	if w.full {
		return nil
	}
	return g
}

// list writes a list. It is not worth its code twice.
//
//go:norace
//go:noinline
func (w *Writer) list(node uint32, from func(w *Writer, node uint32)) {
	w.Begin(node)
	from(w, node)
	w.End()
}

// A Walk finds the references of one object after the other by their types, for queries that need
// more of a reference than where it leads, or that look at few of them. It is not safe for
// concurrent use.
type Walk struct {
	heap *typedheap.Heap
	w    heaptype.Walker
	seen uint32 // objects so far, walked over or laid out
}

// NewWalk returns a walk that calls visit for each reference.
func NewWalk(h *typedheap.Heap, visit func(heaptype.Edge)) *Walk {
	return &Walk{heap: h, w: heaptype.Walker{Types: h.Types, Emit: visit}}
}

// From visits the references of an object, or of anonymous static data.
//
//go:norace
func (w *Walk) From(node uint32) {
	w.next()
	w.heap.References(&w.w, node)
}

// Laid returns the references of an object, or of anonymous static data, that a graph of Lay has,
// as Graph.From does.
//
//go:norace
func (w *Walk) Laid(g *Graph, node uint32) []uint32 {
	w.next()
	return g.From(node)
}

// next looks at the deadline once in a while: loops over the heap have to, walking or not.
//
//go:norace
func (w *Walk) next() {
	if w.seen++; w.seen%goruntime.ObjectsBetween == 0 {
		w.heap.Model.InTime()
	}
}

// A Target is what a reference leads to.
type Target struct {
	Node   uint32 // an object, or anonymous static data
	Typing typing.Typing
	Tiny   bool // it is a block that several values share
}

// Target returns what lies at an address; false if that is not alive, or is a part of a map or
// channel, which belongs to whoever holds the map or channel.
//
//go:norace
func (w *Walk) Target(addr uint64) (t Target, ok bool) {
	h := w.heap
	s, obj := h.Model.Object(addr)
	if s == nil {
		i, known := h.Anonymous.At(addr)
		if !known {
			return t, false
		}
		return Target{Node: h.AnonymousBase() + uint32(i), Typing: h.Anonymous.List[i].Typing}, true
	}
	if !h.Live.Marked.Has(obj) {
		return t, false
	}
	ty := h.Typings.Of(obj)
	return Target{Node: obj, Typing: ty, Tiny: s.Tiny}, ty.Layout != heaptype.LayoutInternal
}

// TypingOf returns how an object, or anonymous static data, is typed.
//
//go:norace
func (w *Walk) TypingOf(node uint32) typing.Typing {
	if h := w.heap; node >= h.AnonymousBase() {
		return h.Anonymous.List[node-h.AnonymousBase()].Typing
	}
	return w.heap.Typings.Of(node)
}
