package heapgraph

import (
	"encoding/binary"
	"math/bits"

	"github.com/leakgate/leakgate/internal/fmterr"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// stack is a goroutine with the words of its stack that keep something alive.
type stack struct {
	g     *goruntime.Goroutine
	slots []goruntime.Slot
	dicts []goruntime.Slot // what may be the dictionaries of frames of shaped code
	test  bool             // it runs a test function, or is the main goroutine of a test binary
}

// marker finds what the collector would find alive (go1.26 runtime/mgcmark.go).
type marker struct {
	g       *Graph
	todo    []uint32
	err     error                               // of the object with the smallest number among those that cannot be read
	failed  uint32                              // its number
	fetched byte                                // see goruntime.Model.Fetch
	shared  bool                                // others mark at the same time
	seen    func(s *goruntime.Span, obj uint32) // called for each object when it is marked, unless nil
}

// mark fills in Graph.marked, and keeps the stacks' slots and the specials for the later passes.
func (g *Graph) mark() error {
	g.marked = newBitset(g.m.NumObjects)
	k := &marker{g: g}
	k.segments()
	for _, gr := range g.m.Goroutines {
		st := stack{g: gr}
		st.test = g.runsTest(gr)
		err := g.m.LiveSlots(gr, func(s goruntime.Slot) {
			if span, _ := g.m.Object(s.Value); span == nil && !s.OnStack && g.staticAt(s.Value) < 0 {
				// Into code, read-only data or memory of the runtime.
				if s.Frame != nil && isShaped(s.Frame.Func.Name) {
					st.dicts = append(st.dicts, s)
				}
				return
			}
			st.slots = append(st.slots, s)
			k.pointer(s.Value)
		})
		if err != nil {
			return fmterr.Errorf("the stack of a goroutine started at %s: %w", entryName(g.m, gr), err)
		}
		g.stacks = append(g.stacks, st)
	}
	err := g.m.Specials(func(s goruntime.Special) {
		g.special = append(g.special, s)
		k.special(s)
	})
	if err != nil {
		return err
	}
	k.drainTogether(g.workers())
	if k.err == nil {
		k.err = g.m.Mem.Err()
	}
	return k.err
}

// drainTogether is drain by several goroutines. What is marked, and the error, does not depend on their number.
func (k *marker) drainTogether(workers int) {
	if workers == 1 {
		k.drain()
		return
	}
	markers := make([]marker, workers)
	pool := newWorkPool(workers)
	for i := range markers {
		markers[i] = marker{g: k.g, shared: true}
	}
	markers[0].todo, k.todo = k.todo, nil
	together(workers, func(i int) {
		for w := &markers[i]; ; {
			w.drainShared(pool)
			if w.todo = pool.take(); w.todo == nil {
				return
			}
		}
	})
	for i := range markers {
		if w := &markers[i]; w.err != nil {
			k.fail(w.failed, w.err)
		}
	}
}

// runsTest reports whether a goroutine runs a test, benchmark or fuzz function: it was made by package
// testing, or it is the main goroutine inside testing.(*M).Run.
func (g *Graph) runsTest(gr *goruntime.Goroutine) bool {
	entry := g.m.Entry(gr)
	for _, f := range []*goruntime.Func{entry, g.m.FuncAt(gr.GoPC)} {
		if f != nil && hasPrefix(f.Name, "testing.") {
			return true
		}
	}
	if entry == nil || entry.Name != "runtime.main" {
		return false
	}
	found := false
	_ = g.m.Frames(gr, func(f *goruntime.Frame) error {
		found = found || f.Func.Name == "testing.(*M).Run"
		return nil
	})
	return found
}

func entryName(m *goruntime.Model, gr *goruntime.Goroutine) string {
	if f := m.Entry(gr); f != nil {
		return f.Name
	}
	return "an unknown function"
}

func (k *marker) pointer(p uint64) {
	if p == 0 {
		return
	}
	s, obj := k.g.m.Object(p)
	if s == nil {
		return
	}
	if k.shared {
		if !k.g.marked.addShared(obj) {
			return
		}
	} else if !k.g.marked.add(obj) {
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

// grow makes room for as many objects again. What append adds is a quarter of a long list, which leaves five times as much garbage.
//
//go:noinline
func (k *marker) grow() {
	k.todo = append(make([]uint32, 0, max(64, 2*len(k.todo))), k.todo...)
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
	for _, mod := range k.g.m.Modules {
		k.segment(mod.Data, mod.EData, mod.DataMask)
		k.segment(mod.BSS, mod.EBSS, mod.BSSMask)
	}
}

func (k *marker) segment(lo, hi uint64, mask []byte) {
	mem := k.g.m.Mem.Bytes(lo, hi-lo)
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

// drainShared is drain for one of the workers of a pool. One that panics holds nobody up.
func (k *marker) drainShared(pool *workPool) {
	defer pool.rest()
	for len(k.todo) > 0 {
		k.next()
		k.todo = pool.share(k.todo)
	}
}

// next marks what the last objects found refer to.
func (k *marker) next() {
	n := max(0, len(k.todo)-fetchAhead)
	var objs [fetchAhead]uint32
	last := objs[:copy(objs[:], k.todo[n:])]
	k.todo = k.todo[:n]
	k.fetched += k.g.m.Fetch(last)
	for _, obj := range last {
		k.object(k.g.m.SpanOf(obj), obj)
	}
}

// object marks what an object refers to.
func (k *marker) object(s *goruntime.Span, obj uint32) {
	mem := s.Bytes(obj)
	if s.HasSmallMask() {
		k.words(mem, s.SmallMask(obj))
		return
	}
	err := k.g.m.PointerMasks(s, obj, func(first, mask uint64) { k.words(mem[first*8:], mask) })
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
