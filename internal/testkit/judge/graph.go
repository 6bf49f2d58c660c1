package judge

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// A RootWord is a reference from outside of the heap.
type RootWord struct {
	Addr      uint64 // of the word; 0 for specials
	Goroutine uint64 // address of the goroutine for words of stacks
	On        int    // object of a special, if other roots lead to the object; else None
	To        int    // the object it leads to
}

// None stands for no object.
const None = -1

// A Graph holds the objects that the collector would find alive, and the references between them.
type Graph struct {
	Objects []Object
	Succ    [][]int
	Roots   []RootWord

	byAddr map[uint64]int
	heap   *Heap
}

// Reachable returns the graph of the objects that are reachable from the collector's roots.
func (h *Heap) Reachable() (*Graph, error) {
	g := &Graph{byAddr: make(map[uint64]int), heap: h}
	for _, m := range h.model.Modules {
		for _, seg := range []struct {
			lo, hi uint64
			mask   []byte
		}{{m.Data, m.EData, m.DataMask}, {m.BSS, m.EBSS, m.BSSMask}} {
			for at := seg.lo; at+8 <= seg.hi; at += 8 {
				i := (at - seg.lo) / 8
				if i/8 >= uint64(len(seg.mask)) || seg.mask[i/8]&(1<<(i%8)) == 0 {
					continue
				}
				to, err := h.word(at)
				if err != nil {
					return nil, err
				}
				g.root(RootWord{Addr: at, On: None}, to)
			}
		}
	}
	for _, gr := range h.model.Goroutines {
		err := h.model.LiveSlots(gr, func(s goruntime.Slot) {
			g.root(RootWord{Addr: s.Addr, Goroutine: gr.Addr, On: None}, s.Value)
		})
		if err != nil {
			return nil, err
		}
	}
	var specials []goruntime.Special
	if err := goruntime.EachSpecial(h.model, func(s goruntime.Special) { specials = append(specials, s) }); err != nil {
		return nil, err
	}
	if err := g.follow(); err != nil {
		return nil, err
	}
	ordinary := len(g.Objects)
	for _, s := range specials {
		if err := g.special(s, ordinary); err != nil {
			return nil, err
		}
	}
	return g, g.follow()
}

// special adds what a finalizer, cleanup or weak handle keeps; ordinary is the number of objects
// that other roots lead to.
func (g *Graph) special(s goruntime.Special, ordinary int) error {
	on := None
	if s.Obj != goruntime.NoObject {
		if i, ok := g.byAddr[s.Span.Addr(s.Obj)]; ok && i < ordinary {
			on = i
		}
	}
	for _, to := range []uint64{s.Fn, s.Call, s.Arg, s.Handle} {
		g.root(RootWord{On: on}, to)
	}
	if s.Kind != goruntime.Finalizer || s.Obj == goruntime.NoObject {
		return nil
	}
	o, ok := g.heap.At(s.Span.Addr(s.Obj))
	if !ok {
		return fmt.Errorf("a finalizer hangs on a free slot")
	}
	refs, err := g.heap.Pointers(o)
	for _, to := range refs {
		g.root(RootWord{On: on}, to)
	}
	return err
}

func (g *Graph) root(r RootWord, to uint64) {
	if o, ok := g.heap.At(to); ok {
		r.To = g.number(o)
		g.Roots = append(g.Roots, r)
	}
}

func (g *Graph) number(o Object) int {
	i, ok := g.byAddr[o.Addr]
	if !ok {
		i = len(g.Objects)
		g.byAddr[o.Addr] = i
		g.Objects = append(g.Objects, o)
	}
	return i
}

// follow fills in Succ for the objects found so far, and for all objects reachable from them.
func (g *Graph) follow() error {
	for i := len(g.Succ); i < len(g.Objects); i++ {
		refs, err := g.heap.Pointers(g.Objects[i])
		if err != nil {
			return err
		}
		var succ []int
		for _, to := range refs {
			if o, ok := g.heap.At(to); ok {
				succ = append(succ, g.number(o))
			}
		}
		g.Succ = append(g.Succ, succ)
	}
	return nil
}

// Find returns the number of the object that holds an address, None if it is not alive.
func (g *Graph) Find(addr uint64) int {
	if o, ok := g.heap.At(addr); ok {
		if i, ok := g.byAddr[o.Addr]; ok {
			return i
		}
	}
	return None
}
