// Package live finds the live objects of a frozen process by the collector's own rules, with its
// roots and its pointer masks. It finds goroutines that nothing can wake by the rules of the
// runtime's leak profile.
package live

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/memory/parallel"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A Stack is a goroutine with the words of its stack that keep something alive.
type Stack struct {
	Goroutine    *goruntime.Goroutine
	Slots        []goruntime.Slot
	Dictionaries []goruntime.Slot // candidates for the dictionaries of frames of generic code
}

// A Marker finds what the collector would find alive (go1.26 runtime/mgcmark.go). It belongs to one
// goroutine.
type Marker struct {
	m        *goruntime.Model
	marked   objset.Set
	scanned  objset.Set      // see Scan
	unlisted bool            // objects that are marked are not listed: see Marking.Finish
	todo     []uint32        // the newest of the objects that are not scanned yet
	full     [][]uint32      // the older ones, in full lists
	lists    *offheap.Blocks // supply of these lists
	// of the object with the smallest number among those that cannot be read
	err     error
	failed  uint32 // its number
	fetched byte   // see goruntime.Model.Fetch
	walked  uint32 // objects so far
	shared  bool   // other goroutines mark the same objects at the same time
	// called for each object when it is marked, unless nil
	seen func(s *goruntime.Span, obj uint32)

	// In a process that something else stopped, audit counts the exact references to slots without
	// an object. The collector allows none, so they show that memory was read wrong.
	audit    bool
	dangling int64
}

// Live is what a Marking finds.
type Live struct {
	Marked   objset.Set // the objects that are alive
	Stacks   []Stack    // in the order of the model's goroutines
	Specials []goruntime.Special
	// of the objects, those that nothing reaches and that wait for their finalizer
	Finalize map[uint32]bool
	// references to slots without an object, in a process that something else stopped
	Dangling int64
}

// A Marking is the search for the objects that are alive, under way.
type Marking struct {
	*Live
	Markers []Marker // that share the work; the first one has marked from the roots
	// words that may be no pointers, or lead to objects that are not complete: no part of the audit
	guesses []uint64
}

// Begin marks what the collector's own roots refer to. workers is the number of markers. Finish has
// to follow.
func Begin(m *goruntime.Model, data *typing.Segments, workers int) (*Marking, error) {
	l := &Live{Marked: objset.New(m.NumObjects), Stacks: make([]Stack, 0, len(m.Goroutines))}
	g := &Marking{Live: l, Markers: make([]Marker, workers)}
	scanned, lists := objset.New(m.NumObjects), new(offheap.Blocks)
	for i := range g.Markers {
		g.Markers[i] = Marker{m: m, marked: l.Marked, scanned: scanned, lists: lists, shared: workers > 1, audit: m.WasStopped(), unlisted: true}
	}
	k := &g.Markers[0]
	k.segments()
	var slots []goruntime.Slot // of the goroutine
	for _, gr := range m.Goroutines {
		st := Stack{Goroutine: gr}
		slots = slots[:0]
		err := m.LiveSlots(gr, func(s goruntime.Slot) {
			if span, _ := m.Object(s.Value); span == nil && !s.OnStack && data.At(s.Value) < 0 {
				// Into code, read-only data or memory of the runtime.
				if s.Frame != nil && symbol.IsShaped(s.Frame.Func.Name) {
					st.Dictionaries = append(st.Dictionaries, s)
				}
				return
			}
			slots = append(slots, s)
			if k.audit && (s.Conservative || !m.Published(s.Value)) {
				g.guesses = append(g.guesses, s.Value)
				return
			}
			k.pointer(s.Value)
		})
		if err != nil {
			return nil, fmt.Errorf("the stack of a goroutine started at %s: %w", entryName(m, gr), err)
		}
		st.Slots = append([]goruntime.Slot(nil), slots...)
		l.Stacks = append(l.Stacks, st)
	}
	err := goruntime.EachSpecial(m, func(s goruntime.Special) {
		l.Specials = append(l.Specials, s)
		k.special(s)
	})
	return g, err
}

// Scan marks what an object refers to, once, if the object itself is marked by then.
//
//go:norace
func (k *Marker) Scan(s *goruntime.Span, obj uint32) {
	if !s.NoScan && k.marked.HasShared(obj) && k.scanned.AddShared(obj) {
		k.object(s, obj)
	}
}

// Finish marks what the objects refer to that were not scanned, and so on, until all that is alive
// is marked. The result does not depend on which objects were scanned.
func (g *Marking) Finish() error {
	k := &g.Markers[0]
	defer k.lists.Release()
	for i := range k.m.Spans {
		s := &k.m.Spans[i]
		for first := uint32(0); !s.NoScan && first < s.NElems; first += 64 {
			obj, n := s.FirstObj+first, min(s.NElems-first, 64)
			for left := k.marked.Bits(obj, n) &^ k.scanned.Bits(obj, n); left != 0; left &= left - 1 {
				k.list(obj + uint32(bits.TrailingZeros64(left)))
			}
		}
	}
	g.drain()
	for i := range g.Markers {
		g.Dangling += g.Markers[i].dangling
		g.Markers[i].audit = false
	}
	for _, p := range g.guesses {
		k.guess(p)
	}
	g.drain()
	for i := range g.Markers {
		if w := &g.Markers[i]; w.err != nil {
			k.fail(w.failed, w.err)
		}
	}
	if k.err == nil {
		k.err = k.m.Mem.Err()
	}
	g.finalize()
	return k.err
}

// finalize adds the objects that nothing reaches but that have a finalizer: the next collection
// keeps them for the finalizer, which may set itself again. The objects that they refer
// to are marked already.
func (l *Live) finalize() {
	l.Finalize = make(map[uint32]bool)
	for _, s := range l.Specials {
		if s.Kind == goruntime.Finalizer && s.Obj != goruntime.NoObject && s.Span.Allocated(s.Obj-s.Span.FirstObj) && l.Marked.Add(s.Obj) {
			l.Finalize[s.Obj] = true
		}
	}
}

// drain scans the objects that are listed, in all markers. What is marked, and the error, does not
// depend on their number.
func (g *Marking) drain() {
	pool := parallel.NewPool(len(g.Markers))
	parallel.Do(len(g.Markers), func(i int) {
		for w := &g.Markers[i]; ; {
			w.unlisted = false
			w.drainShared(pool)
			if w.todo != nil {
				w.lists.Put(w.todo)
			}
			if w.todo = pool.Take(); w.todo == nil {
				return
			}
		}
	})
}

func entryName(m *goruntime.Model, gr *goruntime.Goroutine) string {
	if f := m.Entry(gr); f != nil {
		return f.Name
	}
	return "an unknown function"
}

//go:norace
func (k *Marker) pointer(p uint64) {
	if p == 0 {
		return
	}
	s, obj := k.m.Object(p)
	if s == nil {
		if k.audit {
			if _, _, ok := k.m.Slot(p); ok {
				k.dangling++
			}
		}
		return
	}
	if k.shared {
		if !k.marked.AddShared(obj) {
			return
		}
	} else if !k.marked.Add(obj) {
		return
	}
	if k.seen != nil {
		k.seen(s, obj)
	}
	if !s.NoScan && !k.unlisted {
		k.list(obj)
	}
}

// list adds an object to those that are not scanned yet.
func (k *Marker) list(obj uint32) {
	if len(k.todo) == cap(k.todo) {
		k.grow()
	}
	k.todo = append(k.todo, obj)
}

// grow makes room for more objects.
func (k *Marker) grow() {
	if len(k.todo) > 0 {
		k.full = append(k.full, k.todo)
	}
	k.todo = k.lists.Get()
}

// share gives some of the objects to a worker of a pool that has none: those found first, which
// lead to most.
func (k *Marker) share(pool *parallel.Pool) {
	if !pool.Wants() {
		return
	}
	if len(k.full) > 0 {
		if pool.Give(k.full[0]) {
			k.full = k.full[1:]
		}
		return
	}
	half := len(k.todo) / 2
	if half < parallel.MinBatch {
		return
	}
	some := append(k.lists.Get(), k.todo[:half]...)
	if !pool.Give(some) {
		k.lists.Put(some)
		return
	}
	k.todo = k.todo[:copy(k.todo, k.todo[half:])]
}

// guess is like pointer, for a word that may be no pointer, or may lead to an object whose
// allocation was under way.
func (k *Marker) guess(p uint64) {
	if k.m.Stopped.Phase != 0 || k.m.Published(p) {
		k.pointer(p)
	}
}

func (k *Marker) special(s goruntime.Special) {
	switch s.Kind {
	case goruntime.Finalizer:
		k.pointer(s.Fn)
		k.pointer(s.Arg)
		if s.Obj != goruntime.NoObject {
			k.object(s.Span, s.Obj) // what it refers to, not the object itself
		}
	case goruntime.Cleanup:
		k.pointer(s.Call)
		k.pointer(s.Fn)
		k.pointer(s.Arg)
	case goruntime.WeakHandle:
		k.pointer(s.Handle)
	}
}

// segments marks what package variables refer to.
func (k *Marker) segments() {
	for _, mod := range k.m.Modules {
		k.segment(mod.Data, mod.EData, mod.DataMask)
		k.segment(mod.BSS, mod.EBSS, mod.BSSMask)
	}
}

func (k *Marker) segment(lo, hi uint64, mask []byte) {
	mem := k.m.Mem.Bytes(lo, hi-lo)
	for i, m := range mask {
		for ; m != 0; m &= m - 1 {
			off := (i*8 + bits.TrailingZeros8(m)) * 8
			if off+8 <= len(mem) {
				k.pointer(binary.LittleEndian.Uint64(mem[off:]))
			}
		}
	}
}

func (k *Marker) drain() {
	for len(k.todo) > 0 {
		k.next()
	}
}

// drainShared is drain for one of the workers of a pool. If it panics, the others still end.
func (k *Marker) drainShared(pool *parallel.Pool) {
	defer pool.Rest()
	for len(k.todo) > 0 {
		k.next()
		k.share(pool)
	}
}

// next scans the objects that were found last.
//
//go:norace
func (k *Marker) next() {
	n := max(0, len(k.todo)-goruntime.FetchAhead)
	var objs [goruntime.FetchAhead]uint32
	last := objs[:copy(objs[:], k.todo[n:])]
	k.todo = k.todo[:n]
	k.fetched += k.m.Fetch(last)
	for _, obj := range last {
		if k.walked++; k.walked%goruntime.ObjectsBetween == 0 {
			k.m.InTime()
		}
		k.object(k.m.SpanOf(obj), obj)
	}
	if n := len(k.full); len(k.todo) == 0 && n > 0 {
		k.lists.Put(k.todo)
		k.todo, k.full = k.full[n-1], k.full[:n-1]
	}
}

// object marks what an object refers to.
//
//go:norace
func (k *Marker) object(s *goruntime.Span, obj uint32) {
	mem := s.Bytes(obj)
	if s.HasSmallMask() {
		k.words(mem, s.SmallMask(obj))
		return
	}
	err := k.m.PointerMasks(s, obj, func(first, mask uint64) { k.words(mem[first*8:], mask) })
	if err != nil {
		k.fail(obj, err)
	}
}

// words marks what the words of a mask refer to.
func (k *Marker) words(mem []byte, mask uint64) {
	for ; mask != 0; mask &= mask - 1 {
		k.pointer(binary.LittleEndian.Uint64(mem[bits.TrailingZeros64(mask)*8:]))
	}
}

// fail keeps the error of the object with the smallest number.
func (k *Marker) fail(obj uint32, err error) {
	if k.err == nil || obj < k.failed {
		k.err, k.failed = err, obj
	}
}
