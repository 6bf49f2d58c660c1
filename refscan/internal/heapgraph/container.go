package heapgraph

import (
	"reflect"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
)

// mapLayout is the layout of a map's groups: 8 control bytes, then 8 slots of key and element, or 8
// keys and then 8 elements (GOEXPERIMENT=mapsplitgroup of go1.27). Keys and elements over 128 bytes
// are pointers in it (internal/runtime/maps/group.go, cmd/compile/internal/reflectdata/map.go).
type mapLayout struct {
	key, val        *Type // as they lie in the group; nil layout if the debug information lacks it
	keys, keyStride uint64
	vals, valStride uint64
	group           uint64 // size of a group
	inline          bool   // neither key nor value is a reference: entries lie in the tables whole
}

const groupSlots = 8

// groupPrefix begins the names of types of groups.
const groupPrefix = "noalg.map.group["

// mapLayout finds the group type of a map type.
func (k *typeMaker) mapLayout(t *Type) *mapLayout {
	l := &mapLayout{key: &Type{}, val: &Type{}}
	key, val := k.names.Type(t.key), k.names.Type(t.elem)
	id, ok := k.names.TypeByName(groupPrefix + key.Name + "]" + val.Name)
	if !ok {
		return l
	}
	g := k.names.Type(id)
	for _, f := range g.Fields {
		arr := k.names.Type(f.Type)
		if arr.Kind != reflect.Array || arr.Len != groupSlots {
			continue
		}
		elem := k.names.Type(arr.Elem)
		switch f.Name {
		case "slots":
			for _, sf := range elem.Fields {
				at := uint64(f.Offset + sf.Offset)
				switch sf.Name {
				case "key":
					l.key, l.keys, l.keyStride = k.byID(sf.Type), at, uint64(elem.Size)
				case "elem":
					l.val, l.vals, l.valStride = k.byID(sf.Type), at, uint64(elem.Size)
				}
			}
		case "keys":
			l.key, l.keys, l.keyStride = k.byID(arr.Elem), uint64(f.Offset), uint64(elem.Size)
		case "elems":
			l.val, l.vals, l.valStride = k.byID(arr.Elem), uint64(f.Offset), uint64(elem.Size)
		}
	}
	if l.keys != 0 && l.vals != 0 {
		l.group = uint64(g.Size)
	}
	l.inline = !isReference(key.Kind) && !isReference(val.Kind)
	return l
}

func isReference(k reflect.Kind) bool {
	switch k {
	case reflect.Pointer, reflect.UnsafePointer, reflect.String, reflect.Slice, reflect.Interface, reflect.Map, reflect.Chan, reflect.Func:
		return true
	}
	return false
}

// maxDirectory bounds a map's directory.
const maxDirectory = 1 << 40

// goMap walks a map from its header (go1.26 internal/runtime/maps/map.go and table.go).
func (w *walker) goMap(t *Type, header []byte) {
	o := &w.g.offsets
	l := w.g.types.mapLayout(t)
	dir, dirLen := word(header, o.mapDirPtr), word(header, o.mapDirLen)
	if dir == 0 {
		return
	}
	w.emit(edge{ord: ordInternal, to: dir, form: formInternal, rank: rankOwned})
	slots := uint64(0)
	if dirLen == 0 {
		slots = w.groups(l, dir, 1, true)
	} else {
		slots = w.tables(l, dir, dirLen)
	}
	// The map's own count, if there is room for so many.
	used := int64(min(word(header, o.mapUsed), slots))
	w.used += used
	if l.inline {
		w.inline += used
	}
}

// tables walks the tables of a directory, and returns how many slots they have.
func (w *walker) tables(l *mapLayout, dir, dirLen uint64) (slots uint64) {
	s, obj := w.g.m.Object(dir)
	if s == nil || s.NoScan || dirLen > maxDirectory {
		return 0
	}
	tables, _ := w.g.payload(s, obj)
	tables = tables[:min(dirLen*8, uint64(len(tables)))]
	divided := w.aside.divides(len(tables), directoryPortion*8)
	for i := uint64(0); i*8+8 <= uint64(len(tables)); i++ {
		table := word(tables, i*8)
		groups, n := w.table(table, i)
		if n == 0 {
			continue
		}
		w.emit(edge{ord: ordInternal, to: table, form: formInternal, rank: rankOwned})
		if groups == 0 {
			continue
		}
		w.emit(edge{ord: ordInternal, to: groups, form: formInternal, rank: rankOwned})
		slots += w.groups(l, groups, n, !divided)
	}
	if divided {
		w.aside.add(portion{layout: l, mem: tables}, directoryPortion, 8)
	}
	return slots
}

// table returns where the groups of a table are that is entry i of a directory, and how many; none if another entry stands for
// the table.
func (w *walker) table(addr, i uint64) (groups, n uint64) {
	o := &w.g.offsets
	s, obj := w.g.m.Object(addr)
	if s == nil || s.NoScan {
		return 0, 0
	}
	b, _ := w.g.payload(s, obj)
	// A table stands in the directory as often as its depth says; its index names the first.
	if word(b, o.tableIndex) != i {
		return 0, 0
	}
	return word(b, o.tableGroups), max(word(b, o.tableMask)+1, 1)
}

// groups walks n groups of slots, if it is to; only the slots in use are looked at. It returns how many slots there are.
func (w *walker) groups(l *mapLayout, addr, n uint64, walk bool) (slots uint64) {
	s, obj := w.g.m.Object(addr)
	if s == nil {
		return 0
	}
	if l.group == 0 {
		return s.ElemSize // of unknown layout, but with a control byte for each
	}
	slots = min(n, s.ElemSize/l.group) * groupSlots
	if !walk || s.NoScan || !l.key.HasPointers() && !l.val.HasPointers() {
		return slots
	}
	mem, _ := w.g.payload(s, obj)
	for ; n > 0 && uint64(len(mem)) >= l.group; n-- {
		for i := uint64(0); i < groupSlots; i++ {
			if mem[i]&0x80 != 0 { // empty or deleted
				continue
			}
			w.value(l.key, mem[l.keys+i*l.keyStride:], 0)
			w.value(l.val, mem[l.vals+i*l.valStride:], l.key.ords)
		}
		mem = mem[l.group:]
	}
	return slots
}

// channel walks a channel: its buffered elements, then the runtime's own fields.
func (w *walker) channel(t *Type, mem []byte, base uint64) {
	o := &w.g.offsets
	elem := t.chanElem
	if buf := word(mem, o.chanBuf); buf != 0 && elem != nil && elem.HasPointers() {
		s, obj := w.g.m.Object(buf)
		if s != nil && !s.NoScan && s.Addr(obj) != base {
			w.emit(edge{ord: ordInternal, to: buf, form: formInternal, rank: rankOwned})
			b, _ := w.g.payload(s, obj)
			for n := word(mem, o.chanElems); n > 0 && uint64(len(b)) >= elem.Size; n-- {
				w.value(elem, b, 0)
				b = b[elem.Size:]
			}
		}
	}
	if h := t.chanHead; h != nil {
		w.value(h, mem, chanOrds(elem))
	}
}

func chanOrds(elem *Type) uint32 {
	if elem == nil {
		return 0
	}
	return elem.ords
}

func chanLabel(t *Type, ord uint32) string {
	elem := t.chanElem
	if ord < chanOrds(elem) {
		return "[*]" + dotted(elem.label(ord))
	}
	if t.chanHead == nil {
		return "?"
	}
	return t.chanHead.label(ord - chanOrds(elem))
}

// hchan makes the channel header without the fields that the walk treats itself.
func (k *typeMaker) hchan() *Type {
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

// understood gives fields whose static type hides what they refer to their real type: the pointer of
// sync/atomic.Pointer[T] (its zero-length first field has type [0]*T), and the per-processor pools of
// sync.Pool (go1.26 sync/pool.go).
func (k *typeMaker) understood(d debuginfo.Type, field debuginfo.Field) (kind opKind, target debuginfo.TypeID, ok bool) {
	switch {
	case hasPrefix(d.Name, "sync/atomic.Pointer[") && field.Name == "v":
		for _, f := range d.Fields {
			if arr := k.names.Type(f.Type); arr.Kind == reflect.Array && arr.Len == 0 {
				if p := k.names.Type(arr.Elem); p.Kind == reflect.Pointer {
					return opPointer, p.Elem, true
				}
			}
		}
	case hasPrefix(d.Name, "internal/runtime/atomic.Pointer[") && field.Name == "u":
		name := d.Name[len("internal/runtime/atomic.Pointer[") : len(d.Name)-1]
		if id, found := k.names.TypeByName(name); found {
			return opPointer, id, true
		}
	case hasPrefix(d.Name, "weak.Pointer[") && field.Name == "u":
		// The handle holds the address where the collector does not see it (go1.26 runtime/mheap.go, specialWeakHandle).
		if id, found := k.names.TypeByName("internal/runtime/atomic.Uintptr"); found {
			return opPointer, id, true
		}
	case d.Name == "sync.Pool" && (field.Name == "local" || field.Name == "victim"):
		if id, found := k.names.TypeByName("sync.poolLocal"); found {
			return opSlice, id, true
		}
	}
	return 0, 0, false
}
