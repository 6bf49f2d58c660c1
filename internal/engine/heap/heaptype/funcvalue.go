package heaptype

import (
	"math/bits"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// ClosureEntry reads the code pointer of a func value.
func (tt *Table) ClosureEntry(fn uint64) uint64 {
	if s, obj := tt.Model.Object(fn); s != nil {
		if b := s.Bytes(obj); b != nil {
			return Word(b, fn-s.Addr(obj))
		}
		// The model has no memory of objects without pointers: fetch the word.
	}
	if !tt.Model.Mem.Try(fn, 8) {
		return 0
	}
	return tt.Model.Mem.U64(fn)
}

// ClosureAt returns the type of the closure that a func value refers to, nil if there is none.
//
//go:norace
func (tt *Table) ClosureAt(fn uint64) *Type {
	if s, _ := tt.Model.Object(fn); s != nil {
		return tt.Closure(tt.ClosureEntry(fn))
	}
	return tt.funcValue(fn)
}

// Payload returns the memory of an object without its malloc header, and where it starts.
//
//go:norace
func Payload(s *goruntime.Span, obj uint32) ([]byte, uint64) {
	b, addr := s.Bytes(obj), s.Addr(obj)
	if b != nil && s.HasHeader() {
		return b[8:], addr + 8
	}
	return b, addr
}

// dictionary returns the last pointer word of a closure: function literals capture the dictionary
// of shaped code last (go1.26 cmd/compile/internal/noder/reader.go, funcLit).
func (tt *Table) dictionary(closure uint64) uint64 {
	s, obj := tt.Model.Object(closure)
	if s == nil || s.NoScan || !s.HasSmallMask() {
		return 0
	}
	return Word(s.Bytes(obj), uint64(bits.Len64(s.SmallMask(obj))-1)*8)
}

// ClosureObject returns the type of a closure on the heap. It refines t, the type of the function's
// closures, by the object's pointer mask and by the dictionary of shaped code. fn is the static
// type of the reference, 0 if it has none.
func (tt *Table) ClosureObject(t *Type, s *goruntime.Span, obj uint32, fn debuginfo.TypeID) *Type {
	if s.NoScan || !s.HasSmallMask() || t.entry == 0 {
		return t
	}
	mask := s.SmallMask(obj)
	if (t.Mask != mask || t.doubtful) && !t.whole {
		t = tt.variant(t, variant{mask: mask, size: s.ElemSize})
	}
	if !t.Shaped {
		return t
	}
	// Dictionaries are constants.
	if dict := tt.dictionary(s.Addr(obj)); dict != 0 && tt.Model.IsConstant(dict) {
		if bound := tt.variant(t, variant{dict: dict}); bound != t {
			return bound
		}
	}
	if fn != 0 {
		return tt.variant(t, variant{fn: fn})
	}
	return t
}

// Argument returns the reference to the argument of a queued finalizer or of a cleanup. A cleanup
// keeps a copy of its argument on the heap; the copy has the type of the function's parameter
// (go1.26 and go1.27 runtime/mcleanup.go, AddCleanup).
func (tt *Table) Argument(s goruntime.Special) Edge {
	e := Edge{To: s.Arg}
	if s.Kind != goruntime.Cleanup {
		return e
	}
	param, dict := tt.Names.Signature(tt.ClosureEntry(s.Fn) - tt.Model.Bias())
	if e.Type = tt.StandsFor(param, dict, tt.dictionary(s.Fn)); e.Type == nil {
		e.Type = tt.ByID(param)
	}
	if e.Type != nil {
		e.Layout, e.Confidence = LayoutValue, FromDynamic
	}
	return e
}

// FuncEdge returns the reference that a func value is.
func (tt *Table) FuncEdge(fn uint64) Edge {
	e := Edge{To: fn}
	if fn == 0 {
		return e
	}
	if t := tt.ClosureAt(fn); t != nil {
		e.Type, e.Layout, e.Confidence = t, LayoutClosure, FromDynamic
	}
	return e
}
