package stackvar

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/symbol"
)

// temporaryOf names a slot that no variable explains. Saved registers belong to the function that
// was interrupted.
func temporaryOf(s *goruntime.Slot) Var {
	v := Var{Name: symbol.Temporary}
	if f := s.Frame; f != nil {
		if f.Interrupted != nil {
			f = f.Interrupted
		}
		v.Func, v.Owner = f.Func, f.Func.Name
	}
	return v
}

// maxChanElem is the size of the largest elements that channels have (go1.26 runtime/chan.go,
// makechan).
const maxChanElem = 1 << 16

// waiting finds the channels that a goroutine is blocked at, and types the memory of the values
// that it is to send or receive: the channels tell their types.
func (w *stackWalk) waiting() {
	for _, wait := range w.types.Model.Waits(w.st.Goroutine) {
		w.awaited[wait.Channel] = true
		if wait.Addr == 0 {
			continue
		}
		t := w.types.ByDescriptor(wait.Type)
		if t == nil || !t.HasPointers() {
			continue
		}
		for off := uint64(0); off < min(t.Size, maxChanElem); off += 8 {
			if s := w.live[wait.Addr+off]; s != nil {
				fv := temporaryOf(s)
				fv.Type = t.Name
				w.memory(w.vars.intern(fv), "", t, heaptype.LayoutValue, wait.Addr, t.Size, 0)
				break
			}
		}
	}
}

// deferred types the closures of deferred calls, on the heap or on the stack.
func (w *stackWalk) deferred() {
	for k := range w.st.Slots {
		s := &w.st.Slots[k]
		if !s.Deferred || w.used[s.Addr] {
			continue
		}
		entry := uint64(0)
		if s.OnStack {
			entry = heaptype.Word(w.st.Goroutine.Stack(s.Value), 0)
		} else {
			entry = w.types.ClosureEntry(s.Value)
		}
		t := w.types.Closure(entry)
		if t == nil {
			continue
		}
		w.used[s.Addr] = true
		fv := temporaryOf(s)
		fv.Name = symbol.Deferred
		w.reference(w.vars.intern(fv), "", heaptype.Edge{To: s.Value, Size: t.Size, Type: t, Layout: heaptype.LayoutClosure, Confidence: heaptype.FromDynamic}, 0)
		if !t.HasPointers() && !s.OnStack {
			w.wrapped(w.vars.intern(fv), s.Value)
		}
	}
}

// wrapped visits what a closure refers to that the compiler made around a deferred call: no debug
// information lists what it holds.
func (w *stackWalk) wrapped(fv *Var, closure uint64) {
	span, obj := w.types.Model.Object(closure)
	if span == nil || span.NoScan || !span.HasSmallMask() {
		return
	}
	mem := span.Bytes(obj)
	for mask := span.SmallMask(obj); mask != 0; mask &= mask - 1 {
		if p := heaptype.Word(mem, 8*uint64(bits.TrailingZeros64(mask))); p != 0 {
			w.visit(fv, "", heaptype.Edge{To: p})
		}
	}
}
