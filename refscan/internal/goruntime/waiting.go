package goruntime

// A Wait is a place that a goroutine waits to send a value from, or to receive one into.
type Wait struct {
	Addr uint64 // of the value, often on the goroutine's own stack
	Type uint64 // address of the channel's element type
}

// maxWaits bounds the list of a select's cases, which the compiler limits to 65536
// (go1.26 runtime/select.go, selectgo).
const maxWaits = 1 << 16

// Waits lists the values of the channel operations that a goroutine is blocked in
// (runtime/runtime2.go, g.waiting and sudog; go1.26 and go1.27). A goroutine that waits for none, or whose record is
// damaged, has none.
func (m *Model) Waits(g *Goroutine) []Wait {
	const sudog = "runtime.sudog"
	l := layouts{names: m.names}
	var (
		oWaiting   = l.off("runtime.g", "waiting")
		oElem, oC  = l.off(sudog, "elem.vu"), l.off(sudog, "c.maybeTraceablePtr.vu")
		oLink      = l.off(sudog, "waitlink")
		oElemType  = l.off("runtime.hchan", "elemtype")
		needed     = l.size(sudog)
		neededChan = oElemType + 8
	)
	if l.err != nil || !m.Mem.Try(g.Addr+oWaiting, 8) {
		return nil
	}
	var waits []Wait
	var list chain
	for sg := m.Mem.U64(g.Addr + oWaiting); sg != 0 && len(waits) < maxWaits && !list.returns(sg); sg = m.Mem.U64(sg + oLink) {
		if !m.Mem.Try(sg, needed) {
			return waits
		}
		elem, c := m.Mem.U64(sg+oElem), m.Mem.U64(sg+oC)
		if elem != 0 && c != 0 && m.Mem.Try(c, neededChan) {
			waits = append(waits, Wait{Addr: elem, Type: m.Mem.U64(c + oElemType)})
		}
	}
	return waits
}
