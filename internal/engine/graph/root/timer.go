package root

import (
	"time"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/symbol"
)

// Pending sums up the timers that are one root.
type Pending struct {
	Timers            int64
	DueFirst, DueLast time.Duration // since the snapshot; both 0 if that is not known
	Period            time.Duration // the shortest, 0 if none repeats
}

// add adds a timer. now is 0 if the time of the snapshot is not known.
func (p *Pending) add(t *typedheap.PendingTimer, now int64) {
	if now != 0 && !t.Fake {
		due := time.Duration(t.When - now)
		if p.DueFirst == 0 && p.DueLast == 0 {
			p.DueFirst, p.DueLast = due, due
		}
		p.DueFirst, p.DueLast = min(p.DueFirst, due), max(p.DueLast, due)
	}
	p.Timers++
	if d := time.Duration(t.Period); d > 0 && (p.Period == 0 || d < p.Period) {
		p.Period = d
	}
}

// timerRoots lists the pending timers. Timers of one Kind share a root.
//
//go:norace
func (rs *set) timerRoots() {
	h := rs.heap
	tools := rs.toolObjects()
	roots := make(map[typedheap.TimerKind]Root)
	for i := range h.Timers.List {
		t := &h.Timers.List[i]
		r, known := roots[t.TimerKind]
		if !known {
			r = rs.timerRoot(t)
			roots[t.TimerKind] = r
		}
		if isToolTimer(h.Model, t, tools) {
			r.Class = ClassToolTimer
		}
		entry := rs.entry(r, "")
		entry.Pending.add(t.PendingTimer, h.Model.Now)
		t.Edges(h.Types, func(label string, e heaptype.Edge) { entry.add(label, e, FromTimer, t.Addr) })
	}
	// Stopped timers stay in the runtime's arrays until it comes across them.
	heaps := Root{Kind: KindOther, Name: symbol.TimerHeaps, Package: "runtime", Class: ClassRuntime, standard: true}
	for _, at := range h.Timers.Heaps {
		rs.entry(heaps, "").add("heap", heaptype.Edge{To: at}, FromTimer, at)
	}
}

// toolObjects returns the objects that the tool's variables refer to.
func (rs *set) toolObjects() map[uint32]bool {
	objects := make(map[uint32]bool)
	if len(rs.heap.Timers.List) == 0 {
		return objects
	}
	for _, r := range rs.list {
		for i := 0; r.Class == ClassTool && i < len(r.Edges); i++ {
			if s, obj := rs.heap.Model.Object(r.Edges[i].To); s != nil {
				objects[obj] = true
			}
		}
	}
	return objects
}

// isToolTimer reports whether the tool waits for a timer: one of the tool's variables refers to the
// timer, its channel, its function, or an object that the function captures, such as the context
// that it is to cancel. If variables of the program refer to the same objects, they claim them
// first.
func isToolTimer(m *goruntime.Model, t *typedheap.Timer, tools map[uint32]bool) bool {
	is := func(addr uint64) bool {
		s, obj := m.Object(addr)
		return s != nil && tools[obj]
	}
	if len(tools) == 0 {
		return false
	}
	if is(t.Addr) || is(t.Arg) {
		return true
	}
	s, obj := m.Object(t.Func)
	if s == nil || s.NoScan {
		return false
	}
	found := false
	mem := s.Bytes(obj)
	// no error: the marking has read them all
	_ = m.PointerWords(s, obj, func(w uint64) { found = found || is(heaptype.Word(mem, w*8)) })
	return found
}
