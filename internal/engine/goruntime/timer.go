package goruntime

import "fmt"

// A Timer is one that is pending: it is in the heap of a processor or of a bubble of
// testing/synctest, and nobody has stopped it (runtime/time.go, timer and timers; go1.26 and
// go1.27). When it is due, the runtime calls a function with an argument. Timers of the network
// poller are left out: they, and what they are called with, lie outside of the Go heap
// (runtime/netpoll.go, pollDesc).
type Timer struct {
	Addr uint64 // of the runtime.timer
	// of the runtime.timer in what time.NewTimer and the like allocate, a runtime.timeTimer
	Offset  uint64
	When    int64  // when it is due, by the clock of Model.Now
	Period  int64  // 0 if it does not repeat
	Fn      uint64 // closure
	ArgType uint64 // the argument, an interface
	Arg     uint64
	Fake    bool // it goes by the clock of a bubble
}

// Timers are the pending timers of a process.
type Timers struct {
	List  []Timer
	Heaps []uint64 // addresses of the arrays that hold them, and stopped ones
}

// maxTimers bounds the timers of one heap.
const maxTimers = 1 << 28

// timerZombie is the state of a timer that is still in a heap but is to be removed: it was stopped,
// or is that of a channel that no goroutine waits for (runtime/time.go; go1.26 and go1.27).
const timerZombie = 1 << 2

// Timers lists the pending timers, in any order. Names that do not know runtime.allp have none.
func (m *Model) Timers() (*Timers, error) {
	t := &Timers{}
	allp, ok := m.names.GlobalByName("runtime.allp")
	if !ok {
		return t, nil
	}
	l := &m.layouts
	var (
		oHeap       = l.off("runtime.p", "timers.heap")
		oBubble     = l.off("runtime.g", "bubble")
		oBubbleHeap = l.off("runtime.synctestBubble", "timers.heap")
	)
	r := m.newTimerReader(t)
	if l.err != nil {
		return nil, l.err
	}
	// Up to its capacity: behind its length are processors that GOMAXPROCS has switched off
	// (runtime/proc.go, procresize).
	list, n := m.Mem.U64(allp.Addr+m.bias), m.Mem.U64(allp.Addr+m.bias+16)
	if n > maxProcessors {
		return nil, fmt.Errorf("the program claims %d processors", n)
	}
	for _, p := range words(m.Mem.Bytes(list, n*8)) {
		if p != 0 {
			if err := r.heap(p + oHeap); err != nil {
				return nil, err
			}
		}
	}
	seen := make(map[uint64]bool)
	for _, g := range m.Goroutines {
		if b := m.Mem.U64(g.Addr + oBubble); b != 0 && !seen[b] {
			seen[b] = true
			if err := r.heap(b + oBubbleHeap); err != nil {
				return nil, err
			}
		}
	}
	return t, m.Mem.Err()
}

// timerReader reads heaps of timers.
type timerReader struct {
	m  *Model
	to *Timers

	when, period, f, arg, state, fake, offset, size, entry uint64
}

func (m *Model) newTimerReader(to *Timers) *timerReader {
	const timer = "runtime.timer"
	l := &m.layouts
	// there is none if nothing in the program makes any
	offset, _ := l.maybe("runtime.timeTimer", "timer")
	return &timerReader{
		m: m, to: to, when: l.off(timer, "when"), period: l.off(timer, "period"), f: l.off(timer, "f"), arg: l.off(timer, "arg"),
		state: l.off(timer, "state"), fake: l.off(timer, "isFake"), size: l.size(timer), entry: l.size("runtime.timerWhen"),
		offset: offset,
	}
}

// heap reads the heap that the slice at an address holds.
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
	b := mem.Bytes(at, n*r.entry)
	if b == nil {
		return mem.Err()
	}
	for i := uint64(0); i < n; i++ {
		addr := u64(b, i*r.entry)
		if r.m.pages.span(addr) == 0 {
			continue // of the network poller
		}
		t := mem.Bytes(addr, r.size)
		if t == nil {
			return fmt.Errorf("a heap of timers: %w", mem.Err())
		}
		when := int64(u64(t, r.when))
		if when == 0 || t[r.state]&timerZombie != 0 {
			continue
		}
		r.to.List = append(r.to.List, Timer{
			Addr: addr, Offset: r.offset, When: when, Period: int64(u64(t, r.period)), Fn: u64(t, r.f),
			ArgType: u64(t, r.arg), Arg: u64(t, r.arg+8), Fake: t[r.fake] != 0,
		})
	}
	return nil
}
