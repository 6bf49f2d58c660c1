package heaptype

import (
	"reflect"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// channel walks a channel: its buffered elements, then the runtime's own fields.
func (w *Walker) channel(t *Type, mem []byte, base uint64) {
	o := &w.Types.Offsets
	elem := t.chanElem
	if buf := Word(mem, uint64(o.channel.Buffer)); buf != 0 && elem != nil && elem.HasPointers() {
		s, obj := w.Types.Model.Object(buf)
		if s != nil && !s.NoScan && s.Addr(obj) != base {
			w.Emit(Edge{Ref: RefInternal, To: buf, Layout: LayoutInternal, Confidence: FromOwner})
			b, _ := Payload(s, obj)
			for n := Word(mem, uint64(o.channel.Room)); n > 0 && uint64(len(b)) >= elem.Size; n-- {
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
	word := func(field uintptr) uint64 { return Word(mem, uint64(field)) }
	if s.NoScan {
		if tt.Model.Peek == nil {
			return 0
		}
		word = func(field uintptr) uint64 { return tt.Model.Peek(addr + uint64(field)) }
	}
	at := &tt.Offsets.channel
	used, all, buf := word(at.Used), word(at.Room), word(at.Buffer)
	holder, _ := tt.Model.Object(buf)
	if elem := t.chanElem; holder != nil && elem != nil && elem.Size > 0 && used <= all && all <= holder.ElemSize/elem.Size {
		return (all - used) * elem.Size
	}
	return 0
}

// channelAt returns the type of the channel at an address, by the type of its elements; nil if that
// is not known. A goroutine that waits at a channel may have it in the runtime's frames alone,
// since its own code needs the channel no more.
func (tt *Table) channelAt(addr uint64) *Type {
	at := addr + uint64(tt.Offsets.channel.ElemType)
	if !tt.Model.Mem.Try(at, 8) {
		return nil
	}
	elem := tt.ByDescriptor(tt.Model.Mem.U64(at))
	if elem == nil {
		return nil
	}
	if t := elem.channel.Load(); t != nil {
		return t
	}
	defer tt.done()
	t := tt.maker().channelOf(elem)
	tt.publish()
	elem.channel.Store(t)
	return t
}

// ChannelEdge returns a reference to the channel at an address.
func (tt *Table) ChannelEdge(addr uint64) (e Edge, ok bool) {
	t := tt.channelAt(addr)
	return Edge{To: addr, Type: t, Layout: LayoutChan, Confidence: FromDynamic}, t != nil
}

// channelOf returns the type of channels of such elements. The debug information may lack it, and
// have a type with a name of its own, or channels of another type of the same name.
func (k *maker) channelOf(elem *Type) *Type {
	if t := elem.channel.Load(); t != nil {
		return t
	}
	name := "chan " + elem.Name
	id, _ := k.names.TypeByName(name)
	t := k.byID(id)
	if t == nil || t.chanElem != elem {
		head := k.hchan()
		t = k.newType(name, reflect.Chan, 8)
		t.chanElem, t.chanHead = elem, head
		k.addOp(t, Op{Kind: opChan, Type: t})
		k.number(t)
	}
	return t
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
	t := k.newType(d.Name, d.Kind, uint64(d.Size))
	k.compile(t, d, 0, "", 0)
	k.number(t)
	k.chanType = t
	return t
}
