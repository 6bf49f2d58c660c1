package heapgraph

import "github.com/leakgate/leakgate/refscan/internal/goruntime"

// temporaryOf names a slot that no variable explains. Saved registers belong to the function that was
// interrupted.
func temporaryOf(s *goruntime.Slot) frameVar {
	v := frameVar{name: temporary}
	if f := s.Frame; f != nil {
		if f.Interrupted != nil {
			f = f.Interrupted
		}
		v.fn, v.owner = f.Func, f.Func.Name
	}
	return v
}

// maxChanElem is the size of the largest elements that channels have (go1.26 runtime/chan.go, makechan).
const maxChanElem = 1 << 16

// waiting types the values that a blocked goroutine is to send, and those that it is to receive into:
// their channels know.
func (w *stackWalk) waiting() {
	for _, wait := range w.g.m.Waits(w.st.g) {
		t := w.g.types.byRuntimeType(wait.Type)
		if t == nil || !t.HasPointers() {
			continue
		}
		for off := uint64(0); off < min(t.Size, maxChanElem); off += 8 {
			if s := w.live[wait.Addr+off]; s != nil {
				fv := temporaryOf(s)
				fv.typ = t.Name
				w.memory(fv, t, formOne, wait.Addr, t.Size, 0)
				break
			}
		}
	}
}

// deferred types the closures of deferred calls, on the heap or on the stack.
func (w *stackWalk) deferred() {
	for k := range w.st.slots {
		s := &w.st.slots[k]
		if !s.Deferred || w.used[s.Addr] {
			continue
		}
		entry := uint64(0)
		if s.OnStack {
			entry = word(w.st.g.Stack(s.Value), 0)
		} else {
			entry = w.g.closureEntry(s.Value)
		}
		t := w.g.types.closure(entry)
		if t == nil {
			continue
		}
		w.used[s.Addr] = true
		fv := temporaryOf(s)
		fv.name = "$defer"
		w.reference(fv, edge{to: s.Value, size: t.Size, typ: t, form: formClosure, rank: rankDynamic}, 0)
	}
}
