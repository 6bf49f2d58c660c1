package dwarfread

import (
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

// typeEntry records a type. The linker writes a named struct, slice, array, pointer, func or
// interface twice: the type itself and a typedef of the same name that others refer to (go1.26
// cmd/link/internal/ld/dwarf.go, newtype and dotypedef). The typedef is an alias; so are the
// typedefs that stand for a type parameter in shaped code (go_dict_index), which lead to the shape
// type.
func (u *unitReader) typeEntry(e *entry) error {
	t := rawType{
		off:     e.off,
		name:    e.text(attrName),
		kind:    uint8(e.number(attrGoKind) & 0x1f),
		size:    e.number(attrByteSize),
		runtime: uint64(e.number(attrGoRuntimeType)),
	}
	if t.kind > uint8(reflect.UnsafePointer) {
		t.kind = 0
	}
	switch e.tag {
	case tagTypedef:
		switch reflect.Kind(t.kind) {
		case reflect.Map:
			t.key, t.elem, t.size = e.ref(attrGoKey), e.ref(attrGoElem), 8
		case reflect.Chan:
			t.elem, t.size = e.ref(attrGoElem), 8
		case reflect.Interface:
			t.underlying, t.size = e.ref(attrType), 16
		default:
			t.alias = e.ref(attrType)
		}
	case tagPointerType:
		t.size = 8
		t.elem = e.ref(attrType)
		t.kind = uint8(reflect.Pointer)
		if t.elem == 0 {
			t.kind = uint8(reflect.UnsafePointer)
		}
	case tagSubroutineType:
		t.kind, t.size = uint8(reflect.Func), 8
	case tagBaseType:
		if t.kind == 0 {
			t.kind = uint8(baseKind(e.number(attrEncoding), t.size))
		}
	case tagArrayType:
		t.kind = uint8(reflect.Array)
		t.elem = e.ref(attrType)
		return u.typeChildren(e, &t)
	case tagStructType:
		switch reflect.Kind(t.kind) {
		case reflect.String:
		case reflect.Slice:
			t.elem = e.ref(attrGoElem)
		default:
			t.kind = uint8(reflect.Struct)
			return u.typeChildren(e, &t)
		}
	default:
		u.skipChildren()
		return nil
	}
	u.addType(&t)
	u.skipChildren()
	return nil
}

// typeChildren reads a struct's members or an array's length.
func (u *unitReader) typeChildren(e *entry, t *rawType) error {
	for more := e.children; more; {
		c, err := u.next()
		if err != nil {
			return err
		}
		if c == nil {
			break
		}
		switch c.tag {
		case tagMember:
			t.fields++
			u.out.fields = append(u.out.fields, rawField{
				name:     c.text(attrName),
				offset:   c.number(attrDataMemberLoc),
				typ:      c.ref(attrType),
				embedded: c.number(attrGoEmbeddedField) != 0,
			})
		case tagSubrangeType:
			t.length = c.number(attrCount)
		}
		u.skipChildren()
	}
	u.addType(t)
	return nil
}

// addType records a type. Almost all types of a program are in one unit, so the slices grow to the
// capacity that the whole unit needs if types and fields go on at the same density.
func (u *unitReader) addType(t *rawType) {
	if out := u.out; len(out.types) == cap(out.types) {
		read := uint64(t.off) - uint64(u.unit.start) + 1
		out.types = append(make([]rawType, 0, u.expected(len(out.types), read)), out.types...)
		if n := u.expected(len(out.fields), read); n > cap(out.fields) {
			out.fields = append(make([]rawField, 0, n), out.fields...)
		}
	}
	u.out.types = append(u.out.types, *t)
}

// expected extrapolates a capacity to the whole unit from n elements in its first read bytes.
func (u *unitReader) expected(n int, read uint64) int {
	const least, most = 32, 16
	all := uint64(n) * uint64(u.unit.size()) / read
	return min(int(all+all/16), most*n) + least
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
