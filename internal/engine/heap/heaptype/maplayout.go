package heaptype

import "reflect"

// mapLayout is the layout of a map's groups: 8 control bytes, then 8 slots of key and element, or 8
// keys and then 8 elements (GOEXPERIMENT=mapsplitgroup of go1.27). A group holds pointers in place
// of keys and elements over 128 bytes (internal/runtime/maps/group.go,
// cmd/compile/internal/reflectdata/map.go).
type mapLayout struct {
	// as stored in the group; without references, and Group 0, if the debug information lacks the
	// group
	Key, Val             *Type
	KeyOffset, KeyStride uint64
	ValOffset, ValStride uint64
	Group                uint64 // size of a group
	// neither key nor value is a reference: the tables hold the entries whole
	inline bool
}

// GroupSlots is how many slots a group of a map has.
const GroupSlots = 8

// groupPrefix is the prefix of the names of group types.
const groupPrefix = "noalg.map.group["

// mapLayout finds the group type of a map type.
func (k *maker) mapLayout(t *Type) *mapLayout {
	l := newIn[mapLayout](k.program)
	l.Key, l.Val = newIn[Type](k.program), newIn[Type](k.program)
	key, val := k.names.Type(t.key), k.names.Type(t.Elem)
	id, ok := k.names.TypeByName(groupPrefix + key.Name + "]" + val.Name)
	if !ok {
		return l
	}
	g := k.names.Type(id)
	for _, f := range g.Fields {
		arr := k.names.Type(f.Type)
		if arr.Kind != reflect.Array || arr.Len != GroupSlots {
			continue
		}
		elem := k.names.Type(arr.Elem)
		switch f.Name {
		case "slots":
			for _, sf := range elem.Fields {
				at := uint64(f.Offset + sf.Offset)
				switch sf.Name {
				case "key":
					l.Key, l.KeyOffset, l.KeyStride = k.byID(sf.Type), at, uint64(elem.Size)
				case "elem":
					l.Val, l.ValOffset, l.ValStride = k.byID(sf.Type), at, uint64(elem.Size)
				}
			}
		case "keys":
			l.Key, l.KeyOffset, l.KeyStride = k.byID(arr.Elem), uint64(f.Offset), uint64(elem.Size)
		case "elems":
			l.Val, l.ValOffset, l.ValStride = k.byID(arr.Elem), uint64(f.Offset), uint64(elem.Size)
		}
	}
	if l.KeyOffset != 0 && l.ValOffset != 0 {
		l.Group = uint64(g.Size)
	}
	l.inline = HasInlineEntries(key.Kind, val.Kind)
	return l
}

// HasInlineEntries reports whether the tables of maps with such keys and values hold their entries
// whole, so that no entry is an object of its own.
func HasInlineEntries(key, val reflect.Kind) bool { return !isReference(key) && !isReference(val) }

func isReference(k reflect.Kind) bool {
	switch k {
	case reflect.Pointer, reflect.UnsafePointer, reflect.String, reflect.Slice, reflect.Interface, reflect.Map, reflect.Chan, reflect.Func:
		return true
	}
	return false
}
