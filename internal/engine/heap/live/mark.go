// Package live finds the live objects of a frozen process by the collector's own rules, with its
// roots and its pointer masks. It finds goroutines that nothing can wake by the rules of the
// runtime's leak profile.
package live

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/heap/dataseg"
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

// marker finds what the collector would find alive (go1.26 runtime/mgcmark.go).
type marker struct {
	m      *goruntime.Model
	marked objset.Set
	todo   []uint32        // the newest of the objects that are not scanned yet
	full   [][]uint32      // the older ones, in full lists
	lists  *offheap.Blocks // supply of these lists
	// of the object with the smallest number among those that cannot be read
	err     error
	failed  uint32 // its number
	fetched byte   // see goruntime.Model.Fetch
	shared  bool   // other goroutines mark at the same time
	// called for each object when it is marked, unless nil
	seen func(s *goruntime.Span, obj uint32)

	// In a process that something else stopped, audit counts the exact references to slots without
	// an object. The collector allows none, so they show that memory was read wrong.
	audit    bool
	dangling int64
}

// Live is the result of Mark.
type Live struct {
	Marked   objset.Set // the objects that are alive
	Stacks   []Stack    // in the order of the model's goroutines
	Specials []goruntime.Special
	// of the objects, those that nothing reaches and that wait for their finalizer
	Finalize map[uint32]bool
	// references to slots without an object, in a process that something else stopped
	Dangling int64
}

// Mark finds the objects that are alive, from the collector's own roots and by its pointer masks.
// workers is the number of goroutines that share the work.
func Mark(m *goruntime.Model, data *dataseg.Segments, workers int) (*Live, error) {
	l := &Live{Marked: objset.New(m.NumObjects)}
	k := &marker{m: m, marked: l.Marked, lists: new(offheap.Blocks), audit: m.WasStopped()}
	// words that may be no pointers, or lead to objects that are not complete: no part of the audit
	var guesses []uint64
	defer k.lists.Release()
	k.segments()
	for _, gr := range m.Goroutines {
		st := Stack{Goroutine: gr}
		err := m.LiveSlots(gr, func(s goruntime.Slot) {
			if span, _ := m.Object(s.Value); span == nil && !s.OnStack && data.At(s.Value) < 0 {
				// Into code, read-only data or memory of the runtime.
				if s.Frame != nil && symbol.IsShaped(s.Frame.Func.Name) {
					st.Dictionaries = append(st.Dictionaries, s)
				}
				return
			}
			st.Slots = append(st.Slots, s)
			if k.audit && (s.Conservative || !m.Published(s.Value)) {
				guesses = append(guesses, s.Value)
				return
			}
			k.pointer(s.Value)
		})
		if err != nil {
			return nil, fmt.Errorf("the stack of a goroutine started at %s: %w", entryName(m, gr), err)
		}
		l.Stacks = append(l.Stacks, st)
	}
	err := goruntime.EachSpecial(m, func(s goruntime.Special) {
		l.Specials = append(l.Specials, s)
		k.special(s)
	})
	if err != nil {
		return nil, err
	}
	k.drainTogether(workers)
	l.Dangling = k.dangling
	if k.audit {
		k.audit = false
		for _, p := range guesses {
			k.guess(p)
		}
		k.drainTogether(workers)
	}
	if k.err == nil {
		k.err = m.Mem.Err()
	}
	if k.err != nil {
		return nil, k.err
	}
	l.finalize()
	return l, nil
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

// drainTogether is drain by several goroutines. What is marked, and the error, does not depend on
// their number.
func (k *marker) drainTogether(workers int) {
	if workers == 1 {
		k.drain()
		return
	}
	markers := make([]marker, workers)
	pool := parallel.NewPool(workers)
	for i := range markers {
		markers[i] = marker{m: k.m, marked: k.marked, lists: k.lists, shared: true, audit: k.audit}
	}
	markers[0].todo, markers[0].full = k.todo, k.full
	k.todo, k.full = nil, nil
	parallel.Do(workers, func(i int) {
		for w := &markers[i]; ; {
			w.drainShared(pool)
			if w.todo != nil {
				k.lists.Put(w.todo)
			}
			if w.todo = pool.Take(); w.todo == nil {
				return
			}
		}
	})
	for i := range markers {
		w := &markers[i]
		k.dangling += w.dangling
		if w.err != nil {
			k.fail(w.failed, w.err)
		}
	}
}

func entryName(m *goruntime.Model, gr *goruntime.Goroutine) string {
	if f := m.Entry(gr); f != nil {
		return f.Name
	}
	return "an unknown function"
}

//go:norace
func (k *marker) pointer(p uint64) {
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
	if !s.NoScan {
		if len(k.todo) == cap(k.todo) {
			k.grow()
		}
		k.todo = append(k.todo, obj)
	}
}

// grow makes room for more objects.
func (k *marker) grow() {
	if len(k.todo) > 0 {
		k.full = append(k.full, k.todo)
	}
	k.todo = k.lists.Get()
}

// share gives some of the objects to a worker of a pool that has none: those found first, which
// lead to most.
func (k *marker) share(pool *parallel.Pool) {
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
func (k *marker) guess(p uint64) {
	if k.m.Stopped.Phase != 0 || k.m.Published(p) {
		k.pointer(p)
	}
}

func (k *marker) special(s goruntime.Special) {
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
func (k *marker) segments() {
	for _, mod := range k.m.Modules {
		k.segment(mod.Data, mod.EData, mod.DataMask)
		k.segment(mod.BSS, mod.EBSS, mod.BSSMask)
	}
}

func (k *marker) segment(lo, hi uint64, mask []byte) {
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

func (k *marker) drain() {
	for len(k.todo) > 0 {
		k.next()
	}
}

// drainShared is drain for one of the workers of a pool. If it panics, the others still end.
func (k *marker) drainShared(pool *parallel.Pool) {
	defer pool.Rest()
	for len(k.todo) > 0 {
		k.next()
		k.share(pool)
	}
}

// next scans the objects that were found last.
//
//go:norace
func (k *marker) next() {
	n := max(0, len(k.todo)-goruntime.FetchAhead)
	var objs [goruntime.FetchAhead]uint32
	last := objs[:copy(objs[:], k.todo[n:])]
	k.todo = k.todo[:n]
	k.fetched += k.m.Fetch(last)
	for _, obj := range last {
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
func (k *marker) object(s *goruntime.Span, obj uint32) {
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
func (k *marker) words(mem []byte, mask uint64) {
	for ; mask != 0; mask &= mask - 1 {
		k.pointer(binary.LittleEndian.Uint64(mem[bits.TrailingZeros64(mask)*8:]))
	}
}

// fail keeps the error of the object with the smallest number.
func (k *marker) fail(obj uint32, err error) {
	if k.err == nil || obj < k.failed {
		k.err, k.failed = err, obj
	}
}
