package heaptype

import (
	"reflect"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// EnclosingQuery is the memo key of enclosing: a part of a struct and its offset, and the pointer
// mask and size of the object that holds the struct.
type EnclosingQuery struct {
	Part       debuginfo.TypeID
	Offset     uint64
	Mask, Size uint64
}

// enclosing returns the only struct type of the program that has the part e.Part at e.Offset, the
// pointer mask e.Mask, and objects of size e.Size; nil if there are none or several.
func (k *maker) enclosing(e EnclosingQuery) *Type {
	if e.Part == 0 {
		return nil
	}
	if whole, ok := k.enclosures[e]; ok {
		return whole
	}
	var whole *Type
	for _, st := range k.survey().structs {
		if uint64(st.class) != e.Size || !k.hasPart(k.names.Type(st.id), e.Offset, e.Part) {
			continue
		}
		if t := k.byID(st.id); t.Words != nil && t.Mask == e.Mask {
			if whole != nil {
				whole = nil
				break
			}
			whole = t
		}
	}
	k.enclosures[e] = whole
	return whole
}

// A structType is a struct type and its size class, in bytes.
type structType struct {
	id    debuginfo.TypeID
	class uint32
}

// sizeClass is the size of small objects that hold n bytes (go1.26 and go1.27
// internal/runtime/gc/sizeclasses.go).
func sizeClass(n uint64) uint64 {
	switch {
	case n <= 32:
		return alignUp(n, 8)
	case n <= 256:
		return alignUp(n, 16)
	}
	return alignUp(n, 32)
}

// hasPart reports whether values of a type have a part of another type at an offset.
func (k *maker) hasPart(d debuginfo.Type, off uint64, part debuginfo.TypeID) bool {
	for range maxDepth {
		if off == 0 && d.ID == part {
			return true
		}
		switch d.Kind {
		case reflect.Array:
			elem := k.names.Type(d.Elem)
			if elem.Size <= 0 || off >= uint64(d.Size) {
				return false
			}
			d, off = elem, off%uint64(elem.Size)
		case reflect.Struct:
			inner := debuginfo.Field{Offset: -1} // the last, since those before it may have no size
			for _, f := range d.Fields {
				if at := uint64(f.Offset); f.Offset >= inner.Offset && at <= off {
					inner = f
				}
			}
			if inner.Offset < 0 {
				return false
			}
			d, off = k.names.Type(inner.Type), off-uint64(inner.Offset)
		default:
			return false
		}
	}
	return false
}
