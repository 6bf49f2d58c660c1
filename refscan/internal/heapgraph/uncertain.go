package heapgraph

import "github.com/leakgate/leakgate/refscan/internal/goruntime"

// Without debug information the small objects that only variables and closures lead to have no type of their own: the allocator
// records that of larger ones only. This file finds what more there is to know of them, and counts what stays open.

// A Shape is what is known of an object whose type is not certain.
type Shape struct {
	Size uint64 // of its size class
	Mask uint64 // a bit a word: a pointer
	Type uint64 // address of the descriptor of the type of a reference to it, 0 if there is none that accounts for its pointers
}

// LargestMask is the size up to which objects have pointer masks in shapes. Larger ones with pointers carry their type.
const LargestMask = 64 * 8

// interfaces offers the types that interfaces in memory of unknown type give to what they hold: a word that is no pointer to
// the collector and that is the address of a type or of an itab, before one that is a pointer.
func (o *offerer) interfaces(mem []byte, pointer func(word uint64) bool) {
	for w := uint64(0); w*8+16 <= uint64(len(mem)); w++ {
		if pointer(w) || !pointer(w+1) {
			continue
		}
		tab, data := word(mem, w*8), word(mem, w*8+8)
		if tab == 0 || data == 0 || tab%8 != 0 {
			continue
		}
		switch {
		case o.g.types.byRuntimeType(tab) != nil:
			o.w.iface(opEface, 0, tab, data)
		case o.isItab(tab):
			o.w.iface(opIface, 0, tab, data)
		}
	}
}

// isItab reports whether there is an internal/abi.ITab{Inter, Type *Type; Hash uint32}, whose hash repeats the type's
// (go1.26 and 1.27 internal/abi/iface.go).
func (o *offerer) isItab(addr uint64) bool {
	m := o.g.m
	if !m.Mem.Try(addr, 24) {
		return false
	}
	t := m.Mem.U64(addr + 8)
	if o.g.types.byRuntimeType(m.Mem.U64(addr)) == nil || o.g.types.byRuntimeType(t) == nil {
		return false
	}
	return m.Type(t).Hash == m.Mem.U32(addr+16)
}

// openEnds looks for interfaces in the variables and in the objects that are still without type.
func (in *inferrer) openEnds() {
	g := in.g
	for i := range g.statics {
		if s := &g.statics[i]; s.typ == nil {
			in.by[0].interfaces(s.mem, func(w uint64) bool { return goruntime.MaskBit(s.mask, (s.Addr-s.maskBase)/8+w) })
		}
	}
	for i := range g.m.Spans {
		s := &g.m.Spans[i]
		if !s.HasSmallMask() {
			continue
		}
		for k := range s.NElems {
			obj := s.FirstObj + k
			if g.marked.has(obj) && g.typing.of(obj).typ == 0 && g.typing.of(obj).form != formInternal {
				mask := s.SmallMask(obj)
				in.by[0].interfaces(s.Bytes(obj), func(w uint64) bool { return mask>>w&1 != 0 })
			}
		}
	}
	in.drain()
}

// uncertain counts the objects whose type is not certain, by shape: those that were reached, and those that the collector found
// alive and the scan missed.
func (a *attributor) uncertain() map[Shape]int64 {
	g := a.g
	shapes := make(map[Shape]int64)
	for i := range g.m.Spans {
		s := &g.m.Spans[i]
		for k := range s.NElems {
			obj := s.FirstObj + k
			reached := g.marked.has(obj)
			if a.tool.has(obj) || !reached && !s.Marked(k) {
				continue
			}
			shape := Shape{Size: s.ElemSize}
			if s.HasSmallMask() {
				shape.Mask = s.SmallMask(obj)
			} else if !s.NoScan {
				shape.Mask = ^uint64(0)
			}
			if ty := g.typing.of(obj); reached && (ty.typ != 0 || ty.form == formInternal) {
				if ty.rank > rankStatic {
					continue
				}
				if ty.full && ty.off == 0 && ty.rank == rankStatic {
					shape.Type = g.names.Type(g.types.at(ty.typ).origin).RuntimeAddr
				}
			}
			shapes[shape]++
		}
	}
	return shapes
}
