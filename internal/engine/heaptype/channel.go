package heaptype

import "github.com/leakgate/leakgate/internal/engine/goruntime"

// channel walks a channel: its buffered elements, then the runtime's own fields.
func (w *Walker) channel(t *Type, mem []byte, base uint64) {
	o := &w.Types.Offsets
	elem := t.chanElem
	if buf := Word(mem, o.chanBuf); buf != 0 && elem != nil && elem.HasPointers() {
		s, obj := w.Types.Model.Object(buf)
		if s != nil && !s.NoScan && s.Addr(obj) != base {
			w.Emit(Edge{Ref: RefInternal, To: buf, Layout: LayoutInternal, Confidence: FromOwner})
			b, _ := Payload(s, obj)
			for n := Word(mem, o.chanElems); n > 0 && uint64(len(b)) >= elem.Size; n-- {
				w.Value(elem, b, 0)
				b = b[elem.Size:]
			}
		}
	}
	if h := t.chanHead; h != nil {
		w.Value(h, mem, chanRefs(elem))
	}
}

// ChannelRoom returns how many bytes of a channel's buffer hold no element; t is the channel's
// type. If elements have no pointers, the image lacks the channel. ChannelRoom reads it as it is
// now, if it is one of this process, and else returns 0.
func (tt *Table) ChannelRoom(t *Type, s *goruntime.Span, obj uint32) uint64 {
	mem, addr := Payload(s, obj)
	word := func(off uint64) uint64 { return Word(mem, off) }
	if s.NoScan {
		if tt.Model.Peek == nil {
			return 0
		}
		word = func(off uint64) uint64 { return tt.Model.Peek(addr + off) }
	}
	o := &tt.Offsets
	used, all, buf := word(o.chanUsed), word(o.chanElems), word(o.chanBuf)
	holder, _ := tt.Model.Object(buf)
	if elem := t.chanElem; holder != nil && elem != nil && elem.Size > 0 && used <= all && all <= holder.ElemSize/elem.Size {
		return (all - used) * elem.Size
	}
	return 0
}

func chanRefs(elem *Type) uint32 {
	if elem == nil {
		return 0
	}
	return elem.Refs
}

func chanLabel(t *Type, ref uint32) string {
	elem := t.chanElem
	if ref < chanRefs(elem) {
		return "[*]" + dotted(elem.Label(ref))
	}
	if t.chanHead == nil {
		return "?"
	}
	return t.chanHead.Label(ref - chanRefs(elem))
}

// hchan makes the type of the channel header without buf and elemtype: Walker.channel walks the
// buffer.
func (k *maker) hchan() *Type {
	if k.chanType != nil {
		return k.chanType
	}
	id, ok := k.names.TypeByName("runtime.hchan")
	if !ok {
		return nil
	}
	d := k.names.Type(id)
	kept := d.Fields[:0:0]
	for _, f := range d.Fields {
		if f.Name != "buf" && f.Name != "elemtype" {
			kept = append(kept, f)
		}
	}
	d.Fields = kept
	t := k.add(&Type{Name: d.Name, Kind: d.Kind, Size: uint64(d.Size)})
	k.compile(t, d, 0, "", 0)
	k.number(t)
	k.chanType = t
	return t
}
