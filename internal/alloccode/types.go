package alloccode

import (
	"encoding/binary"
	"strings"

	"github.com/leakgate/leakgate/internal/alloctrace"
)

// Types is the part of a program that has its type descriptors. It is safe for concurrent use.
type Types struct {
	start uint64
	data  []byte
}

// NewTypes returns the type descriptors in data, which starts at the address start.
func NewTypes(start uint64, data []byte) *Types { return &Types{start, data} }

// Kinds, flags and offsets of internal/abi.Type; go1.26 and go1.27 have the same.
const (
	kindArray, kindChan, kindFunc, kindInterface, kindMap = 17, 18, 19, 20, 21
	kindPointer, kindSlice, kindStruct                    = 22, 23, 25
	flagUncommon                                          = 1
	flagsAt, kindAt, commonSize                           = 20, 23, 48
)

// uncommonAt is the offset of a descriptor's uncommon type, whose first field is the package's
// path. For maps it differs by version.
var uncommonAt = map[byte]uint64{
	kindArray: 72, kindChan: 64, kindFunc: 56, kindInterface: 80, kindPointer: 56, kindSlice: 56, kindStruct: 80,
}

// Package returns the import path of the package that a named type is declared in; "" for other
// types, and where it is not known.
func (t *Types) Package(address uint64) string {
	descriptor := t.bytes(address, commonSize)
	if descriptor == nil || descriptor[flagsAt]&flagUncommon == 0 {
		return ""
	}
	kind := descriptor[kindAt] & 31
	at, ok := uncommonAt[kind]
	if !ok {
		at = commonSize
	}
	uncommon := t.bytes(address+at, 4)
	if uncommon == nil || kind == kindMap {
		return ""
	}
	return t.nameAt(t.start + uint64(binary.LittleEndian.Uint32(uncommon)))
}

// nameAt reads a name: flags, its length as a varint, its bytes (internal/abi/type.go, Name).
func (t *Types) nameAt(address uint64) string {
	if address == t.start {
		return ""
	}
	head := t.bytes(address+1, 3)
	if head == nil {
		return ""
	}
	length, size := binary.Uvarint(head)
	if size <= 0 {
		return ""
	}
	return string(t.bytes(address+1+uint64(size), length))
}

func (t *Types) bytes(address, size uint64) []byte {
	if address < t.start || size > uint64(len(t.data)) || address-t.start > uint64(len(t.data))-size {
		return nil
	}
	return t.data[address-t.start:][:size]
}

// A descriptor is the part of a type descriptor that this package uses.
type descriptor struct {
	size    int64
	kind    byte
	pointer bool // it has pointers
}

// Offsets in a descriptor of the bytes with pointers and of the name; the flag of a name with "*"
// before it.
const pointersAt, nameOffsetAt, starFlag = 8, 40, 2

// at reads the descriptor at an address; false if there is none.
func (t *Types) at(address uint64) (d descriptor, ok bool) {
	b := t.bytes(address, commonSize)
	if b == nil || address%8 != 0 || t.Name(address) == "" {
		return d, false
	}
	d = descriptor{
		size: int64(binary.LittleEndian.Uint64(b)), kind: b[kindAt] & 31,
		pointer: binary.LittleEndian.Uint64(b[pointersAt:]) != 0,
	}
	return d, d.kind >= 1 && d.kind <= 26 && d.size >= 0
}

// Name returns the name of the type at an address, as reflect has it; "" if there is none.
func (t *Types) Name(address uint64) string {
	b := t.bytes(address, commonSize)
	if b == nil {
		return ""
	}
	name := t.nameAt(t.start + uint64(binary.LittleEndian.Uint32(b[nameOffsetAt:])))
	if b[flagsAt]&starFlag != 0 {
		name = strings.TrimPrefix(name, "*")
	}
	return name
}

// Size returns the size of the type at an address, in bytes; 0 if there is none.
func (t *Types) Size(address uint64) int64 {
	d, _ := t.at(address)
	return d.size
}

// HasPointers reports whether objects of the type at an address have pointers.
func (t *Types) HasPointers(address uint64) bool {
	d, _ := t.at(address)
	return d.pointer
}

// sendsPointers reports whether elements of the channel type at an address have pointers.
func (t *Types) sendsPointers(address uint64) bool {
	b := t.bytes(address+commonSize, 8)
	return b != nil && t.HasPointers(binary.LittleEndian.Uint64(b))
}

// basic reports whether functions that are not given the type may put values of it into interfaces.
func (d descriptor) basic() bool {
	const kindBool, kindFloat64, kindString = 1, 14, 24
	return d.kind >= kindBool && d.kind <= kindFloat64 || d.kind == kindString || d.kind == kindSlice || d.kind == kindArray || d.kind == kindStruct
}

// fits reports whether an object of size bytes can be what a rule allocates for a type.
func (d descriptor) fits(r rule, size int64, classes []int64) bool {
	switch {
	case d.kind == kindMap || d.kind == kindChan:
		return true // any part of a map or channel
	case size == alloctrace.BlockSize && !d.pointer && d.size < alloctrace.BlockSize:
		return d.size > 0
	case r.prefix != "":
		return d.size > 0 && size >= d.size
	case !d.pointer || d.size <= mostWithoutHeader:
		return size == alloctrace.SizeOf(d.size, classes)
	}
	return size == alloctrace.SizeOf(d.size+header, classes) || size == alloctrace.SizeOf(d.size, classes)
}

// Larger objects with pointers have a header before them, with their type (go1.26, go1.27:
// runtime/mbitmap.go, heapBitsInSpan).
const mostWithoutHeader, header = 512, 8
