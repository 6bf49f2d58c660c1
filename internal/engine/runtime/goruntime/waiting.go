package goruntime

import "github.com/leakgate/leakgate/internal/engine/memory/image"

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
	at, first, elemType := &m.sudog, g.Addr+uint64(m.g.Waiting), uint64(m.channel.ElemType)
	if !m.Mem.Try(first, 8) {
		return nil
	}
	var waits []Wait
	var list image.Chain
	for sg := m.Mem.U64(first); sg != 0 && len(waits) < MaxWaits && !list.Returns(sg); sg = m.Mem.U64(sg + at.Next) {
		if !m.Mem.Try(sg, at.Size) {
			return waits
		}
		elem, c := m.Mem.U64(sg+at.Elem), m.Mem.U64(sg+at.Channel)
		if c == 0 { // a wait for a semaphore, which links to the records of all others that wait for it
			return waits
		}
		if m.Mem.Try(c, elemType+8) {
			waits = append(waits, Wait{Channel: c, Addr: elem, Type: m.Mem.U64(c + elemType)})
		}
	}
	return waits
}
