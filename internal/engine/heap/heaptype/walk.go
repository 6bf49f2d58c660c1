package heaptype

import (
	"encoding/binary"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// An Edge is a reference found in memory, and the typing that it implies for the object it leads
// to.
type Edge struct {
	Ref        uint32           // number of the reference in its holder; see LabelOf
	Fn         debuginfo.TypeID // func values: their static type
	To         uint64
	Size       uint64 // bytes from To on that the typing covers, 0 if unknown
	Type       *Type  // nil: unknown
	Layout     Layout
	Confidence Confidence
	// the reference is a field of a struct that an interface holds in place of a pointer to it
	Inner bool
	Slack uint32 // slices: elements between length and capacity
}

const (
	// RefUnknown marks references that the holder's type does not account for.
	RefUnknown = ^uint32(0)
	// RefInternal marks the parts of maps and channels, which belong to their holder.
	RefInternal = ^uint32(0) - 1
	// RefEntry is no reference: it stands for map entries that the tables hold whole.
	RefEntry = ^uint32(0) - 2
)

// Word returns the word at an offset, 0 if it lies outside.
func Word(mem []byte, off uint64) uint64 {
	if off+8 > uint64(len(mem)) || off+8 < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(mem[off:])
}

// Walker finds the references in memory of known type.
type Walker struct {
	Types *Table
	Emit  func(Edge)
	Aside *Aside // nil: large objects are walked at once
	// Entries counts the entries of the maps walked, InlineEntries those that the tables hold
	// whole.
	Entries, InlineEntries int64
	Walked                 int // bytes of objects, each as often as it was walked
}

// Value walks one value of a type.
//
//go:norace
func (w *Walker) Value(t *Type, mem []byte, base uint32) {
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Offset >= uint64(len(mem)) {
			return
		}
		w.Op(o, mem, base)
	}
}

// Op walks one reference, or array of references, of a value.
//
//go:norace
func (w *Walker) Op(o *Op, mem []byte, base uint32) {
	ref := base + o.Ref
	switch o.Kind {
	case OpArray:
		t := o.Type
		single := len(t.Ops) == 1 && t.Ops[0].Kind < OpReflect // nil if the first word is 0
		for k := uint64(0); k < o.Len; k++ {
			at := o.Offset + k*t.Size
			if at >= uint64(len(mem)) {
				return
			}
			if single && Word(mem, at+t.Ops[0].Offset) == 0 {
				continue
			}
			w.Value(t, mem[at:], ref+uint32(min(k, maxElems))*t.Refs)
		}
		return
	case OpIface, OpEface, OpPooled:
		w.Interface(o.Kind, ref, Word(mem, o.Offset), Word(mem, o.Offset+8))
		return
	case OpReflect:
		w.reflected(ref, Word(mem, o.Offset), Word(mem, o.Offset+8), Word(mem, o.Offset+16))
		return
	}
	if o.Offset+8 <= uint64(len(mem)) {
		if to := binary.LittleEndian.Uint64(mem[o.Offset:]); to != 0 {
			w.reference(o, ref, to, mem)
		}
	}
}

// reference walks a reference to the address to; mem is the memory of the value that holds it.
//
//go:norace
func (w *Walker) reference(o *Op, ref uint32, to uint64, mem []byte) {
	tt := w.Types
	e := Edge{Ref: ref, To: to, Inner: mem == nil && o.label != ""}
	switch o.Kind {
	case opPointer:
		e.Type, e.Layout, e.Confidence = tt.target(o), LayoutValue, FromStatic
		if e.Type != nil {
			e.Size = e.Type.Size
		}
	case opSlice:
		e.Type, e.Layout, e.Confidence = tt.target(o), LayoutArray, FromStatic
		if e.Type != nil {
			length, capacity := Word(mem, o.Offset+8), Word(mem, o.Offset+16)
			e.Size = capacity * e.Type.Size
			if length < capacity && capacity-length <= 1<<32-1 {
				e.Slack = uint32(capacity - length)
			}
		}
	case opCounted:
		if e.Type, e.Layout, e.Confidence = tt.target(o), LayoutArray, FromStatic; e.Type != nil {
			e.Size = Word(mem, o.Offset+8) * e.Type.Size
		}
	case opString:
		e.Type, e.Layout, e.Confidence = tt.byteType(), LayoutString, FromStatic
		e.Size = Word(mem, o.Offset+8)
	case opTrie:
		e.Type, e.Layout, e.Confidence = tt.target(o), LayoutTrie, FromDynamic
	case opMap:
		e.Type, e.Layout, e.Confidence = tt.target(o), LayoutMap, FromDynamic
	case opChan:
		e.Type, e.Layout, e.Confidence = tt.target(o), LayoutChan, FromDynamic
	case opHchan:
		if c, ok := tt.ChannelEdge(to); ok {
			e.Type, e.Layout, e.Confidence = c.Type, c.Layout, c.Confidence
		} else {
			e.Type, e.Layout, e.Confidence = tt.target(o), LayoutValue, FromStatic
		}
	case opFunc:
		if t := w.Types.ClosureAt(to); t != nil {
			e.Type, e.Layout, e.Confidence = t, LayoutClosure, FromDynamic
			if o.lazy != nil {
				e.Fn = o.lazy.id
			}
		}
	}
	w.Emit(e)
}

// Interface walks an interface: its data word is the value itself if that is pointer-shaped, else a
// pointer to it. The type word leads to a descriptor, which may be on the heap too
// (reflect.StructOf).
//
//go:norace
func (w *Walker) Interface(kind opKind, ref uint32, tab, data uint64) {
	if tab == 0 {
		return
	}
	if data == 0 {
		return
	}
	var t *Type
	if kind == OpIface {
		var ok bool
		if t, ok = w.Types.ofItab(tab); !ok {
			return
		}
	} else {
		t = w.Types.ByDescriptor(tab)
	}
	switch {
	case t == nil:
		w.Emit(Edge{Ref: ref, To: data})
	case t.direct.Load():
		w.direct(ref, t, data)
	default:
		w.Emit(Edge{Ref: ref, To: data, Size: t.Size, Type: t, Layout: LayoutBoxed, Confidence: FromDynamic})
	}
}

// direct walks a value of one word that an interface holds itself, in place of a pointer to it.
//
//go:norace
func (w *Walker) direct(ref uint32, t *Type, data uint64) {
	if len(t.Ops) != 1 || t.Ops[0].Offset != 0 || !t.Ops[0].Kind.isWord() {
		w.Emit(Edge{Ref: ref, To: data})
		return
	}
	w.reference(&t.Ops[0], ref, data, nil)
}

// reflectIndirect is the flag of a reflect.Value that holds a pointer to its value, not the value
// (go1.26 reflect/value.go, flagIndir).
const reflectIndirect = 1 << 7

// reflected walks a reflect.Value.
func (w *Walker) reflected(ref uint32, rtype, ptr, flags uint64) {
	if ptr == 0 {
		return
	}
	t := w.Types.ByDescriptor(rtype)
	switch {
	case t == nil:
		w.Emit(Edge{Ref: ref, To: ptr})
	case flags&reflectIndirect != 0:
		w.Emit(Edge{Ref: ref, To: ptr, Size: t.Size, Type: t, Layout: LayoutBoxed, Confidence: FromDynamic})
	default:
		w.direct(ref, t, ptr)
	}
}
