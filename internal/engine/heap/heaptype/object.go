package heaptype

import "encoding/binary"

// Object walks an object (or compiler-made data) of known typing; mem starts at the typed part.
//
//go:norace
func (w *Walker) Object(t *Type, f Layout, mem []byte, base uint64) {
	w.Walked += len(mem)
	switch f {
	case LayoutValue, LayoutBoxed:
		w.Value(t, mem, 0)
	case LayoutArray:
		if t.Size == 0 || !t.HasPointers() {
			return
		}
		if w.Aside.dividesArray(len(mem), t) {
			w.Aside.array(t, mem)
		} else {
			w.Elements(t, mem, 0)
		}
	case LayoutClosure:
		w.Value(t, mem, 0)
	case LayoutMap:
		w.mapHeader(t, mem)
	case LayoutTrie:
		w.trieMap(t, mem)
	case LayoutChan:
		w.channel(t, mem, base)
	}
}

// Elements walks the elements of an array in mem; first is the index of the first of them. Of equal
// pointers behind the elements that have names of their own, it may leave out all but the first.
//
//go:norace
func (w *Walker) Elements(t *Type, mem []byte, first uint64) {
	var seen [16]uint64
	pointers := t.Size == 8 && len(t.Ops) == 1 && t.Ops[0].Kind == opPointer
	for k := uint64(0); (k+1)*t.Size <= uint64(len(mem)); k++ {
		if pointers && first+k >= maxElems {
			to := binary.LittleEndian.Uint64(mem[8*k:])
			at := &seen[to*0x9e3779b97f4a7c15>>60]
			if *at == to {
				continue
			}
			*at = to
		}
		w.Value(t, mem[k*t.Size:], uint32(min(first+k, maxElems))*t.Refs)
	}
}

// Portion walks a portion that an Aside collected.
func (w *Walker) Portion(p *Portion) {
	if p.layout == nil {
		w.Elements(p.typ, p.mem, p.first)
		return
	}
	for at := uint64(0); at+8 <= uint64(len(p.mem)); at += 8 {
		if groups, n := w.table(Word(p.mem, at), p.first+at/8); groups != 0 {
			w.groups(p.layout, groups, n, true)
		}
	}
}
