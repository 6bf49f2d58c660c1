package heapgraph

import (
	"encoding/binary"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// An edge is a reference found in memory, and what it says of the object it leads to.
type edge struct {
	ord  uint32           // which reference of its holder, in the holder's order; see labelOf
	fn   debuginfo.TypeID // func values: their static type
	to   uint64
	size uint64 // bytes from there on that it speaks for, 0 if it does not say
	typ  *Type  // nil: nothing is said
	form form
	rank rank
}

const (
	// ordUnknown marks references that the holder's type does not account for.
	ordUnknown = ^uint32(0)
	// ordInternal marks the parts of maps and channels, which belong to their holder.
	ordInternal = ^uint32(0) - 1
	// ordEntry is no reference: it stands for map entries that lie in the tables whole.
	ordEntry = ^uint32(0) - 2
)

//go:noinline
func word(mem []byte, off uint64) uint64 {
	if off+8 > uint64(len(mem)) || off+8 < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(mem[off:])
}

// walker finds the references in memory of known type.
type walker struct {
	g     *Graph
	emit  func(edge)
	aside *portions // nil: large objects are walked at once
	// used counts the entries of the maps walked, inline those that lie in the tables whole.
	used, inline int64
	walked       int // bytes of objects, each as often as it was walked
}

// value walks one value of a type.
func (w *walker) value(t *Type, mem []byte, base uint32) {
	for i := range t.ops {
		o := &t.ops[i]
		if o.off >= uint64(len(mem)) {
			return
		}
		w.op(o, mem, base)
	}
}

func (w *walker) op(o *op, mem []byte, base uint32) {
	ord := base + o.ord
	switch o.kind {
	case opArray:
		t := o.typ
		for k := uint64(0); k < o.n; k++ {
			at := o.off + k*t.Size
			if at >= uint64(len(mem)) {
				return
			}
			w.value(t, mem[at:], ord+uint32(min(k, maxElems))*t.ords)
		}
		return
	case opIface, opEface, opPooled:
		w.iface(o.kind, ord, word(mem, o.off), word(mem, o.off+8))
		return
	case opReflect:
		w.reflected(ord, word(mem, o.off), word(mem, o.off+8), word(mem, o.off+16))
		return
	}
	if o.off+8 <= uint64(len(mem)) {
		if to := binary.LittleEndian.Uint64(mem[o.off:]); to != 0 {
			w.reference(o, ord, to, mem)
		}
	}
}

// reference walks a reference whose first word leads to an address; mem is that of the value that holds it.
func (w *walker) reference(o *op, ord uint32, to uint64, mem []byte) {
	tt := w.g.types
	e := edge{ord: ord, to: to}
	switch o.kind {
	case opPointer:
		e.typ, e.form, e.rank = tt.target(o), formOne, rankStatic
		if e.typ != nil {
			e.size = e.typ.Size
		}
	case opSlice:
		e.typ, e.form, e.rank = tt.target(o), formArray, rankStatic
		if e.typ != nil {
			e.size = word(mem, o.off+16) * e.typ.Size
		}
	case opString:
		e.typ, e.form, e.rank = tt.bytes(), formString, rankStatic
		e.size = word(mem, o.off+8)
	case opTrie:
		e.typ, e.form, e.rank = tt.target(o), formTrie, rankDynamic
	case opMap:
		e.typ, e.form, e.rank = tt.target(o), formMap, rankDynamic
	case opChan:
		e.typ, e.form, e.rank = tt.target(o), formChan, rankDynamic
	case opFunc:
		if t := w.g.closureAt(to); t != nil {
			e.typ, e.form, e.rank = t, formClosure, rankDynamic
			if o.ref != nil {
				e.fn = o.ref.id
			}
		}
	}
	w.emit(e)
}

// iface walks an interface: its data word is the value itself if that is pointer-shaped, else a
// pointer to it. The type word leads to a descriptor, which may be on the heap too (reflect.StructOf).
func (w *walker) iface(kind opKind, ord uint32, tab, data uint64) {
	if tab == 0 {
		return
	}
	if data == 0 {
		return
	}
	var d *dynamicType
	if kind == opIface {
		var ok bool
		if d, ok = w.g.types.ofItab(tab); !ok {
			return
		}
	} else {
		d = w.g.types.dynamic(tab)
	}
	switch {
	case d == nil:
		w.emit(edge{ord: ord, to: data})
	case d.direct:
		w.direct(ord, d.t, data)
	default:
		w.emit(edge{ord: ord, to: data, size: d.t.Size, typ: d.t, form: formBoxed, rank: rankDynamic})
	}
}

// direct walks a value of one word that is held in place of a pointer to it.
func (w *walker) direct(ord uint32, t *Type, data uint64) {
	if len(t.ops) != 1 || t.ops[0].off != 0 || !t.ops[0].kind.isWord() {
		w.emit(edge{ord: ord, to: data})
		return
	}
	w.reference(&t.ops[0], ord, data, nil)
}

// reflectIndirect is the flag of a reflect.Value that holds a pointer to its value, not the value
// (go1.26 reflect/value.go, flagIndir).
const reflectIndirect = 1 << 7

// reflected walks a reflect.Value.
func (w *walker) reflected(ord uint32, rtype, ptr, flags uint64) {
	if ptr == 0 {
		return
	}
	t := w.g.types.byRuntimeType(rtype)
	switch {
	case t == nil:
		w.emit(edge{ord: ord, to: ptr})
	case flags&reflectIndirect != 0:
		w.emit(edge{ord: ord, to: ptr, size: t.Size, typ: t, form: formBoxed, rank: rankDynamic})
	default:
		w.direct(ord, t, ptr)
	}
}

// object walks an object (or compiler-made data) of known typing; mem starts at the typed part.
func (w *walker) object(t *Type, f form, mem []byte, base uint64) {
	w.walked += len(mem)
	switch f {
	case formOne, formBoxed:
		w.value(t, mem, 0)
	case formArray:
		if t.Size == 0 || !t.HasPointers() {
			return
		}
		if w.aside.divides(len(mem), arrayPortion) && t.Size <= arrayPortion {
			w.aside.add(portion{typ: t, mem: mem}, arrayPortion/t.Size, t.Size)
		} else {
			w.elements(t, mem, 0)
		}
	case formClosure:
		w.value(t, mem, 0)
	case formMap:
		w.goMap(t, mem)
	case formTrie:
		w.trieMap(t, mem)
	case formChan:
		w.channel(t, mem, base)
	}
}

// elements walks values of an array, from number first on.
func (w *walker) elements(t *Type, mem []byte, first uint64) {
	for k := uint64(0); (k+1)*t.Size <= uint64(len(mem)); k++ {
		w.value(t, mem[k*t.Size:], uint32(min(first+k, maxElems))*t.ords)
	}
}

// labelOf names reference ord of an object of this typing.
func labelOf(t *Type, f form, ord uint32) string {
	switch {
	case ord == ordUnknown || t == nil:
		return "?"
	case ord == ordEntry:
		return "$mapval"
	case f == formArray:
		return elemLabel(ord/t.ords) + dotted(t.label(ord%t.ords))
	case f == formMap:
		l := t.layout.Load()
		if ord < l.key.ords {
			return "$mapkey" + dotted(l.key.label(ord))
		}
		return "$mapval" + dotted(l.val.label(ord-l.key.ords))
	case f == formTrie:
		l := t.trie.Load()
		if ord < l.key.ords {
			return "$mapkey" + dotted(l.key.label(ord))
		}
		return "$mapval" + dotted(l.val.label(ord-l.key.ords))
	case f == formChan:
		return chanLabel(t, ord)
	}
	return t.label(ord)
}

// closureEntry reads the code pointer of a func value.
func (g *Graph) closureEntry(fn uint64) uint64 {
	if s, obj := g.m.Object(fn); s != nil {
		if b := s.Bytes(obj); b != nil {
			return word(b, fn-s.Addr(obj))
		}
		// It captures nothing that holds pointers, so that it must be fetched.
	}
	if !g.m.Mem.Try(fn, 8) {
		return 0
	}
	return g.m.Mem.U64(fn)
}

// closureAt returns the type of the closure that a func value refers to, nil if there is none.
func (g *Graph) closureAt(fn uint64) *Type {
	if s, _ := g.m.Object(fn); s != nil {
		return g.types.closure(g.closureEntry(fn))
	}
	return g.types.funcValue(fn)
}

// payload returns the memory of an object without its malloc header, and where it starts.
func (g *Graph) payload(s *goruntime.Span, obj uint32) ([]byte, uint64) {
	b, addr := s.Bytes(obj), s.Addr(obj)
	if b != nil && s.HasHeader() {
		return b[8:], addr + 8
	}
	return b, addr
}
