// Package typedheap builds the heap of a frozen process as analyses of it need it: what is alive,
// by the collector's own rules, and of which type, and the pending timers. It spreads types over
// the objects that are alive until nothing improves. The best founded, largest typing of an object
// wins, in whichever order they are found.
package typedheap

import (
	"errors"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/live"
	"github.com/leakgate/leakgate/internal/engine/heap/stackvar"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/parallel"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// Heap is the heap of a frozen process: what is alive, and of which type. It does not change until
// Close.
type Heap struct {
	Model     *goruntime.Model
	Types     *heaptype.Table
	Segments  *typing.Segments
	Live      *live.Live
	Timers    *Timers
	Vars      *stackvar.Finder
	Typings   typing.Table
	Anonymous *typing.AnonymousSet
	Confused  bool // types led to ever more walks, so that some were not followed
}

// Options say whose heap it is, and how the work is divided. The zero value will do; tests set
// others. The result does not depend on how it is divided.
type Options struct {
	Workers    int // goroutines; 0: as many as the heap is worth
	DenseRound int // see inferrer.dense; 0: by the size of the heap
	Portions   heaptype.PortionSizes
	Own        bool            // the process is this one: see heaptype.NewTable
	Modules    *symbol.Modules // of the program; nil if they are not known
}

// Build marks the live objects of a process, and infers their types. Close gives back the memory
// that the heap takes.
//
//go:norace
func Build(m *goruntime.Model, names *debuginfo.Index, options Options) (*Heap, error) {
	types, err := heaptype.NewTable(m, names, options.Own)
	if err != nil {
		return nil, err
	}
	if options.Workers == 0 {
		options.Workers = parallel.Workers(m.NumObjects)
	}
	h := &Heap{Model: m, Types: types, Segments: typing.LoadSegments(types), Vars: stackvar.New(types)}
	if h.Timers, err = loadTimers(types); err != nil {
		return nil, err
	}
	found, err := inferTypes(types, h.Segments, h.Timers, options)
	if err != nil {
		return nil, fmt.Errorf("marking: %w", err)
	}
	h.Live, h.Typings, h.Anonymous, h.Confused = found.Live, found.Typings, found.Anonymous, found.Confused
	return h, nil
}

// Close gives back the memory of a heap, which must not be used any more.
func (h *Heap) Close() {
	h.Typings.Free()
	h.Typings = typing.Table{}
}

// AnonymousBase is the first number of compiler-made data: references lead through such data, but
// it is not on the heap.
func (h *Heap) AnonymousBase() uint32 { return h.Model.NumObjects }

// NumNodes counts the heap's objects and its anonymous static data.
func (h *Heap) NumNodes() uint32 { return h.AnonymousBase() + uint32(len(h.Anonymous.List)) }

// References walks one object by its type, and by its pointer mask if the type does not account for
// all pointers.
func (h *Heap) References(w *heaptype.Walker, obj uint32) {
	if obj >= h.AnonymousBase() {
		c := &h.Anonymous.List[obj-h.AnonymousBase()]
		w.Object(h.Types.At(c.Typing.Type), c.Typing.Layout, c.Mem, c.Addr)
		return
	}
	ty, s := h.Typings.Of(obj), h.Model.SpanOf(obj)
	typing.WalkObject(w, ty, s, obj)
	if ty.Full && ty.Type != 0 {
		return
	}
	mem := s.Bytes(obj)
	_ = h.Model.PointerWords(s, obj, func(word8 uint64) {
		if to := heaptype.Word(mem, word8*8); to != 0 {
			w.Emit(heaptype.Edge{Ref: heaptype.RefUnknown, To: to})
		}
	})
}

// Missed calls visit for each object that the collector found alive and the marking did not reach.
func (h *Heap) Missed(visit func(s *goruntime.Span, index uint32)) {
	for i := range h.Model.Spans {
		s := &h.Model.Spans[i]
		for k := uint32(0); k < s.NElems; k++ {
			if obj := s.FirstObj + k; s.Marked(k) && !h.Live.Marked.Has(obj) {
				visit(s, k)
			}
		}
	}
}

// AllocatedType returns the type of a reference to an object by what the allocator recorded, "" if
// it recorded nothing.
func (h *Heap) AllocatedType(s *goruntime.Span, obj uint32) string {
	ty, ok := allocated(h.Types, s, obj)
	if !ok {
		return ""
	}
	return typing.RefName(h.Types, ty)
}

// Variables calls visit for each variable that has a place in the frames of the model's i-th
// goroutine where it stands.
func (h *Heap) Variables(i int, visit func(stackvar.Variable)) error {
	return h.Vars.Variables(&h.Live.Stacks[i], visit)
}

// Errors of Paths.
var (
	ErrNotOnHeap = errors.New("the address is not on the heap")
	ErrNotAlive  = errors.New("the object is not alive")
)

// A Target is the object that an address lies in.
type Target struct {
	Object uint32
	Type   string // of a reference to it, "" if unknown
	Shared bool   // it is a block of the tiny allocator, which several values share
	Inner  bool   // the address does not lie at its start
}

// Target finds the object that an address of the process lies in.
func (h *Heap) Target(addr uint64) (Target, error) {
	s, obj := h.Model.Object(addr)
	if s == nil {
		return Target{}, ErrNotOnHeap
	}
	if !h.Live.Marked.Has(obj) {
		return Target{}, ErrNotAlive
	}
	t := Target{Object: obj, Shared: s.Tiny}
	_, start := heaptype.Payload(s, obj)
	t.Inner = addr != start
	if ty := h.Typings.Of(obj); ty.Type != 0 {
		t.Type = typing.RefName(h.Types, ty)
	}
	return t, nil
}
