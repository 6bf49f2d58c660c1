package infer

import (
	"github.com/leakgate/leakgate/internal/engine/heaptype"
)

// interfaces looks for interfaces in memory of unknown type, and offers their types to the values
// that they hold. An interface is a word that is no pointer to the collector but the address of a
// type or an itab, and a pointer behind it.
func (o *offerer) interfaces(mem []byte, pointer func(word uint64) bool) {
	for w := uint64(0); w*8+16 <= uint64(len(mem)); w++ {
		if pointer(w) || !pointer(w+1) {
			continue
		}
		tab, data := heaptype.Word(mem, w*8), heaptype.Word(mem, w*8+8)
		if tab == 0 || data == 0 || tab%8 != 0 {
			continue
		}
		switch {
		case o.types.ByDescriptor(tab) != nil:
			o.w.Interface(heaptype.OpEface, 0, tab, data)
		case o.isItab(tab):
			o.w.Interface(heaptype.OpIface, 0, tab, data)
		}
	}
}

// isItab reports whether there is an internal/abi.ITab{Inter, Type *Type; Hash uint32} at an
// address: its hash repeats the type's (go1.26 and 1.27 internal/abi/iface.go).
func (o *offerer) isItab(addr uint64) bool {
	m := o.m
	if !m.Mem.Try(addr, 24) {
		return false
	}
	t := m.Mem.U64(addr + 8)
	if o.types.ByDescriptor(m.Mem.U64(addr)) == nil || o.types.ByDescriptor(t) == nil {
		return false
	}
	return m.Type(t).Hash == m.Mem.U32(addr+16)
}

// openEnds looks for interfaces in the variables and in the objects that are still without type.
func (in *inferrer) openEnds() {
	for i := range in.data.Statics {
		if s := &in.data.Statics[i]; s.HeapType == nil {
			in.offerers[0].interfaces(s.Mem, s.IsPointer)
		}
	}
	for i := range in.m.Spans {
		s := &in.m.Spans[i]
		if !s.HasSmallMask() {
			continue
		}
		for k := range s.NElems {
			obj := s.FirstObj + k
			if in.live.Marked.Has(obj) && in.out.Typings.Of(obj).Type == 0 && in.out.Typings.Of(obj).Layout != heaptype.LayoutInternal {
				mask := s.SmallMask(obj)
				in.offerers[0].interfaces(s.Bytes(obj), func(w uint64) bool { return mask>>w&1 != 0 })
			}
		}
	}
	in.drain()
}
