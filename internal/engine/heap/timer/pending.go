package timer

import (
	"encoding/binary"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// A Pending is a timer that is pending: it is in the heap of a processor or of a bubble of
// testing/synctest, and it is not stopped (runtime/time.go, timer and timers; go1.26 and
// go1.27). When it is due, the runtime calls a function with an argument. Timers of the network
// poller are left out: they, and what they are called with, lie outside of the Go heap
// (runtime/netpoll.go, pollDesc).
type Pending struct {
	Addr uint64 // of the runtime.timer
	// offset of the runtime.timer in the runtime.timeTimer that time.NewTimer and the like allocate
	Offset  uint64
	When    int64  // when it is due, by the clock of Model.Now
	Period  int64  // 0 if it does not repeat
	Fn      uint64 // closure
	ArgType uint64 // the argument, an interface
	Arg     uint64
	Fake    bool // it goes by the clock of a bubble
}

// pendingTimers are the pending timers of a process.
type pendingTimers struct {
	List  []Pending
	Heaps []uint64 // addresses of the arrays that hold them, and stopped ones
}

// maxTimers bounds the timers of one heap.
const maxTimers = 1 << 28

// allPending lists the pending timers, in any order. It finds none if the names lack runtime.allp.
func allPending(m *goruntime.Model) (*pendingTimers, error) {
	t := &pendingTimers{}
	l := m.Fields()
	allp := l.Variable("runtime.allp")
	if l.Err() != nil {
		return t, nil
	}
	var (
		oHeap       = l.Offset("runtime.p", "timers.heap")
		oBubble     = l.Offset("runtime.g", "bubble")
		oBubbleHeap = l.Offset("runtime.synctestBubble", "timers.heap")
	)
	r := newReader(m, l, t)
	if l.Err() != nil {
		return nil, l.Err()
	}
	// Up to its capacity: behind its length are processors that GOMAXPROCS has switched off
	// (runtime/proc.go, procresize).
	list, n := m.Mem.U64(allp.Addr), m.Mem.U64(allp.Addr+16)
	if n > rtlayout.MaxProcessors {
		return nil, fmt.Errorf("the program claims %d processors", n)
	}
	for i := range n {
		if p := m.Mem.U64(list + 8*i); p != 0 {
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

// A reader reads heaps of timers.
type reader struct {
	m  *goruntime.Model
	to *pendingTimers

	when, period, f, arg, state, fake, offset, size, entry uint64
}

func newReader(m *goruntime.Model, l *rtlayout.Lookup, to *pendingTimers) *reader {
	const timer = "runtime.timer"
	// the type is missing if nothing in the program makes such timers
	offset, _ := l.Maybe("runtime.timeTimer", "timer")
	return &reader{
		m: m, to: to, when: l.Offset(timer, "when"), period: l.Offset(timer, "period"), f: l.Offset(timer, "f"), arg: l.Offset(timer, "arg"),
		state: l.Offset(timer, "state"), fake: l.Offset(timer, "isFake"), size: l.Size(timer), entry: l.Size("runtime.timerWhen"),
		offset: offset,
	}
}

// heap reads the heap that the slice at an address holds.
//
//go:norace
func (r *reader) heap(slice uint64) error {
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
		addr := binary.LittleEndian.Uint64(b[i*r.entry:])
		if span, _, _ := r.m.Slot(addr); span == nil {
			continue // a timer of the network poller
		}
		t := mem.Bytes(addr, r.size)
		if t == nil {
			return fmt.Errorf("a heap of timers: %w", mem.Err())
		}
		when := int64(binary.LittleEndian.Uint64(t[r.when:]))
		if when == 0 || t[r.state]&rtlayout.TimerZombie != 0 {
			continue
		}
		r.to.List = append(r.to.List, Pending{
			Addr: addr, Offset: r.offset, When: when, Period: int64(binary.LittleEndian.Uint64(t[r.period:])), Fn: binary.LittleEndian.Uint64(t[r.f:]),
			ArgType: binary.LittleEndian.Uint64(t[r.arg:]), Arg: binary.LittleEndian.Uint64(t[r.arg+8:]), Fake: t[r.fake] != 0,
		})
	}
	return nil
}
