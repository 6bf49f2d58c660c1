package goruntime

import (
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// A Wait is a channel operation that a goroutine is blocked in.
type Wait struct {
	Channel uint64 // its address
	// the memory to send a value from, or to receive one into, often on the goroutine's own stack;
	// 0: the value is not wanted
	Addr uint64
	Type uint64 // address of the channel's element type
}

// MaxWaits bounds the list of a select's cases, which the compiler limits to 65536
// (go1.26 runtime/select.go, selectgo).
const MaxWaits = 1 << 16

// Waits lists the channel operations that a goroutine is blocked in
// (runtime/runtime2.go, g.waiting and sudog; go1.26 and go1.27). It returns none if the goroutine
// waits for no channel, or if its record is damaged.
func (m *Model) Waits(g *Goroutine) []Wait {
	f := &m.waits
	if f.err != nil || !m.Mem.Try(g.Addr+f.waiting, 8) {
		return nil
	}
	var waits []Wait
	var list image.Chain
	for sg := m.Mem.U64(g.Addr + f.waiting); sg != 0 && len(waits) < MaxWaits && !list.Returns(sg); sg = m.Mem.U64(sg + f.link) {
		if !m.Mem.Try(sg, f.length) {
			return waits
		}
		elem, c := m.Mem.U64(sg+f.elem), m.Mem.U64(sg+f.channel)
		if c != 0 && m.Mem.Try(c, f.elemType+8) {
			waits = append(waits, Wait{Channel: c, Addr: elem, Type: m.Mem.U64(c + f.elemType)})
		}
	}
	return waits
}

// waitFields are offsets that Waits needs for each goroutine.
type waitFields struct {
	waiting, elem, channel, link, elemType uint64
	length                                 uint64 // of a sudog
	err                                    error
}

func (m *Model) findWaitFields() waitFields {
	const sudog = "runtime.sudog"
	l := rtlayout.In(m.names, m.bias)
	f := waitFields{
		waiting: l.Offset("runtime.g", "waiting"), elem: l.Offset(sudog, "elem.vu"), channel: l.Offset(sudog, "c.maybeTraceablePtr.vu"),
		link: l.Offset(sudog, "waitlink"), elemType: l.Offset("runtime.hchan", "elemtype"), length: l.Size(sudog),
	}
	f.err = l.Err()
	return f
}
