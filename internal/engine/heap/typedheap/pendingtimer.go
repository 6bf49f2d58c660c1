package typedheap

import (
	"encoding/binary"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// A PendingTimer is a timer that is pending: it is in the heap of a processor or of a bubble of
// testing/synctest, and it is not stopped (runtime/time.go, timer and timers; go1.26 and
// go1.27). When it is due, the runtime calls a function with an argument. Timers of the network
// poller are left out: they, and what they are called with, lie outside of the Go heap
// (runtime/netpoll.go, pollDesc).
type PendingTimer struct {
	Addr uint64 // of the runtime.timer
	// offset of the runtime.timer in the runtime.timeTimer that time.NewTimer and the like allocate
	Offset uint64
	When   int64  // when it is due, by the clock of Model.Now
	Period int64  // 0 if it does not repeat
	Fn     uint64 // closure
	Arg    uint64 // the argument, without its type
	Fake   bool   // it goes by the clock of a bubble
}

// pendingTimers are the pending timers of a process.
type pendingTimers struct {
	List  []PendingTimer
	Heaps []uint64 // addresses of the arrays that hold them, and stopped ones
}

// maxTimers bounds the timers of one heap.
const maxTimers = 1 << 28

// pendingOf lists the pending timers, in any order.
func pendingOf(m *goruntime.Model) (*pendingTimers, error) {
	t := &pendingTimers{}
	r := timerReader{m: m, to: t}
	l := m.Fields()
	if l.Fill(&r.at, &r.g, &r.p, &r.variables); l.Err() != nil {
		return nil, l.Err()
	}
	// the type is missing if nothing in the program makes such timers
	r.offset, _ = l.Maybe("runtime.timeTimer", "timer")
	// Up to its capacity: behind its length are processors that GOMAXPROCS has switched off
	// (runtime/proc.go, procresize).
	allp := uint64(r.variables.AllPs)
	list, n := m.Mem.U64(allp), m.Mem.U64(allp+16)
	if n > rtlayout.MaxProcessors {
		return nil, fmt.Errorf("the program claims %d processors", n)
	}
	for i := range n {
		if p := m.Mem.U64(list + 8*i); p != 0 {
			if err := r.heap(p + uint64(r.p.Timers)); err != nil {
				return nil, err
			}
		}
	}
	seen := make(map[uint64]bool)
	for _, g := range m.Goroutines {
		if b := m.Mem.U64(g.Addr + uint64(r.g.Bubble)); b != 0 && !seen[b] {
			seen[b] = true
			if err := r.heap(b + uint64(r.at.Bubble)); err != nil {
				return nil, err
			}
		}
	}
	return t, m.Mem.Err()
}

// A timerReader reads heaps of timers.
type timerReader struct {
	m  *goruntime.Model
	to *pendingTimers

	at        rtlayout.Timer
	g         rtlayout.Goroutine
	p         rtlayout.Processor
	variables rtlayout.Variables
	offset    uint64
}

// heap reads the heap that the slice at an address holds.
//
//go:norace
func (r *timerReader) heap(slice uint64) error {
	mem := r.m.Mem
	at, n := mem.U64(slice), mem.U64(slice+8)
	if err := mem.Err(); err != nil || at == 0 {
		return err
	}
	r.to.Heaps = append(r.to.Heaps, at)
	if n > maxTimers {
		return fmt.Errorf("a heap of timers claims %d of them", n)
	}
	entry := uint64(r.at.Entry)
	b := mem.Bytes(at, n*entry)
	if b == nil {
		return mem.Err()
	}
	for i := uint64(0); i < n; i++ {
		addr := binary.LittleEndian.Uint64(b[i*entry:])
		if span, _, _ := r.m.Slot(addr); span == nil {
			continue // a timer of the network poller
		}
		t := mem.Bytes(addr, uint64(r.at.Size))
		if t == nil {
			return fmt.Errorf("a heap of timers: %w", mem.Err())
		}
		when := int64(binary.LittleEndian.Uint64(t[r.at.When:]))
		if when == 0 || t[r.at.State]&rtlayout.TimerZombie != 0 {
			continue
		}
		r.to.List = append(r.to.List, PendingTimer{
			Addr: addr, Offset: r.offset, When: when, Period: int64(binary.LittleEndian.Uint64(t[r.at.Period:])), Fn: binary.LittleEndian.Uint64(t[r.at.Fn:]),
			Arg: binary.LittleEndian.Uint64(t[r.at.Arg+8:]), Fake: t[r.at.Fake] != 0,
		})
	}
	return nil
}
