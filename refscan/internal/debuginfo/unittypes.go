package debuginfo

import (
	"debug/dwarf"
	"math/bits"
	"reflect"
)

// Base type encodings (DWARF 5, section 7.8), for types without a Go kind.
const (
	encBoolean = 0x02
	encComplex = 0x03
	encFloat   = 0x04
	encSigned  = 0x05
	encUnsign  = 0x07
)

// typeEntry records a type. The linker writes a named struct, slice, array, pointer, func or interface twice: the type
// itself and a typedef of the same name that others refer to (go1.26 cmd/link/internal/ld/dwarf.go, newtype and
// dotypedef). The typedef is an alias; so are the typedefs that stand for a type parameter in
// shaped code (go_dict_index), which lead to the shape type.
func (u *unitReader) typeEntry(e *dwarf.Entry) error {
	t := rawType{
		off:     e.Offset,
		name:    stringAttr(e, dwarf.AttrName),
		kind:    uint8(intAttr(e, attrGoKind) & 0x1f),
		size:    intAttr(e, dwarf.AttrByteSize),
		runtime: uint64(intAttr(e, attrGoRuntimeType)),
	}
	if t.kind > uint8(reflect.UnsafePointer) {
		t.kind = 0
	}
	switch e.Tag {
	case dwarf.TagTypedef:
		switch reflect.Kind(t.kind) {
		case reflect.Map:
			t.key, t.elem, t.size = refAttr(e, attrGoKey), refAttr(e, attrGoElem), 8
		case reflect.Chan:
			t.elem, t.size = refAttr(e, attrGoElem), 8
		case reflect.Interface:
			t.underlying, t.size = refAttr(e, dwarf.AttrType), 16
		default:
			t.alias = refAttr(e, dwarf.AttrType)
		}
	case dwarf.TagPointerType:
		t.size = 8
		t.elem = refAttr(e, dwarf.AttrType)
		t.kind = uint8(reflect.Pointer)
		if t.elem == 0 {
			t.kind = uint8(reflect.UnsafePointer)
		}
	case dwarf.TagSubroutineType:
		t.kind, t.size = uint8(reflect.Func), 8
	case dwarf.TagBaseType:
		if t.kind == 0 {
			t.kind = uint8(baseKind(intAttr(e, dwarf.AttrEncoding), t.size))
		}
	case dwarf.TagArrayType:
		t.kind = uint8(reflect.Array)
		t.elem = refAttr(e, dwarf.AttrType)
		return u.typeChildren(e, &t)
	case dwarf.TagStructType:
		switch reflect.Kind(t.kind) {
		case reflect.String:
		case reflect.Slice:
			t.elem = refAttr(e, attrGoElem)
		default:
			t.kind = uint8(reflect.Struct)
			return u.typeChildren(e, &t)
		}
	default:
		u.r.SkipChildren()
		return nil
	}
	u.out.types = append(u.out.types, t)
	u.r.SkipChildren()
	return nil
}

// typeChildren reads a struct's members or an array's length.
func (u *unitReader) typeChildren(e *dwarf.Entry, t *rawType) error {
	for e.Children {
		c, err := u.next()
		if err != nil {
			return err
		}
		if c == nil {
			break
		}
		switch c.Tag {
		case dwarf.TagMember:
			embedded, _ := c.Val(attrGoEmbeddedField).(bool)
			t.fields = append(t.fields, rawField{
				name:     stringAttr(c, dwarf.AttrName),
				offset:   intAttr(c, dwarf.AttrDataMemberLoc),
				typ:      refAttr(c, dwarf.AttrType),
				embedded: embedded,
			})
		case dwarf.TagSubrangeType:
			t.length = intAttr(c, dwarf.AttrCount)
		}
		u.r.SkipChildren()
	}
	u.out.types = append(u.out.types, *t)
	return nil
}

func baseKind(encoding, size int64) reflect.Kind {
	log := reflect.Kind(0)
	if size == 2 || size == 4 || size == 8 {
		log = reflect.Kind(bits.TrailingZeros64(uint64(size)))
	}
	switch encoding {
	case encBoolean:
		return reflect.Bool
	case encSigned:
		return reflect.Int8 + log
	case encUnsign:
		return reflect.Uint8 + log
	case encFloat:
		if size == 4 {
			return reflect.Float32
		}
		return reflect.Float64
	case encComplex:
		if size == 8 {
			return reflect.Complex64
		}
		return reflect.Complex128
	}
	return reflect.Invalid
}
