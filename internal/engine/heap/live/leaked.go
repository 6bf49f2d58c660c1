package live

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/gstate"
)

// A LeakedGoroutine is a goroutine that is blocked for ever, with the heap that it alone keeps
// alive.
type LeakedGoroutine struct {
	Index int // in the model's list of goroutines
	// reached from it, but neither from goroutines that may run nor from a leaked goroutine before
	// it
	Objects, Bytes int64
}

// leakSearch marks from goroutines that may run, and wakes others when it reaches what they wait
// for.
type leakSearch struct {
	Marker
	waiting map[uint32][]int // goroutines by the object that could wake them
	mayRun  []bool           // may run, by index of the goroutine
	woken   []int            // goroutines whose stacks are not followed yet
	tally   LeakedGoroutine  // sum of the objects that are marked
}

// Leaked finds the goroutines that nothing can wake any more: each waits for a channel, or for a
// mutex, wait group or condition, that no package variable, finalizer or cleanup, and no goroutine
// that may run, reaches. A goroutine may run if it waits for anything else, or if what it waits for
// is reached from one that may: the least fixed point, as for the runtime's own profile (go1.27
// runtime/mgc.go, findGoroutineLeaks). It takes time in proportion to the live heap. The result is
// in the order of the model's list.
func Leaked(m *goruntime.Model) ([]LeakedGoroutine, error) {
	blocks, err := gstate.NewBlocks(m)
	if err != nil {
		return nil, err
	}
	k := &leakSearch{Marker: Marker{m: m, marked: objset.New(m.NumObjects), lists: new(offheap.Blocks)}}
	defer k.lists.Release()
	k.waiting = make(map[uint32][]int)
	k.mayRun = make([]bool, len(m.Goroutines))
	k.seen = k.reached
	var records []waitRecord
	for i, gr := range m.Goroutines {
		block, blocked := blocks.Of(gr)
		if !blocked {
			k.wake(i)
			continue
		}
		for _, r := range block.Records {
			if s, obj := m.Object(r.Addr); s != nil && k.marked.Add(obj) {
				records = append(records, waitRecord{s, obj, r.Words})
			}
		}
		for _, w := range block.Wakers {
			if s, obj := m.Object(w); s != nil {
				k.waiting[obj] = append(k.waiting[obj], i)
			} else {
				k.wake(i) // it lies in a package variable
			}
		}
	}
	for _, r := range records {
		k.record(r)
	}
	k.segments()
	if err := goruntime.EachSpecial(m, k.special); err != nil {
		return nil, err
	}
	k.drain()
	for len(k.woken) > 0 && k.err == nil {
		i := k.woken[len(k.woken)-1]
		k.woken = k.woken[:len(k.woken)-1]
		k.follow(m.Goroutines[i])
	}

	k.waiting = nil // what leaked goroutines reach wakes nobody
	var leaked []LeakedGoroutine
	for i, gr := range m.Goroutines {
		if k.mayRun[i] || k.err != nil {
			continue
		}
		k.tally = LeakedGoroutine{Index: i}
		k.follow(gr)
		leaked = append(leaked, k.tally)
	}
	if k.err == nil {
		k.err = m.Mem.Err()
	}
	return leaked, k.err
}

// A waitRecord is the runtime's record of a wait, an object of the heap.
type waitRecord struct {
	span  *goruntime.Span
	obj   uint32
	words []uint64 // addresses of the words that are not followed
}

// record marks the objects that a record refers to, except by r.words: that a goroutine waits for
// an event does not make the event happen. Records refer to each other, so all are marked before
// this.
func (k *leakSearch) record(r waitRecord) {
	if r.span.NoScan {
		return
	}
	mem, addr := r.span.Bytes(r.obj), r.span.Addr(r.obj)
	err := k.m.PointerWords(r.span, r.obj, func(w uint64) {
		if !slices.Contains(r.words, addr+w*8) {
			k.pointer(binary.LittleEndian.Uint64(mem[w*8:]))
		}
	})
	if err != nil && k.err == nil {
		k.err = err
	}
}

func (k *leakSearch) wake(i int) {
	if !k.mayRun[i] {
		k.mayRun[i] = true
		k.woken = append(k.woken, i)
	}
}

// reached is called when an object is marked.
func (k *leakSearch) reached(s *goruntime.Span, obj uint32) {
	k.tally.Objects++
	k.tally.Bytes += int64(s.ElemSize)
	for _, i := range k.waiting[obj] {
		k.wake(i)
	}
}

// follow marks what a goroutine reaches.
func (k *leakSearch) follow(gr *goruntime.Goroutine) {
	err := k.m.LiveSlots(gr, func(s goruntime.Slot) { k.pointer(s.Value) })
	if err != nil && k.err == nil {
		k.err = fmt.Errorf("the stack of a goroutine started at %s: %w", entryName(k.m, gr), err)
	}
	k.drain()
}
