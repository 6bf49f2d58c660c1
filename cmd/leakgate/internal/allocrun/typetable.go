package allocrun

import (
	"debug/elf"
	"encoding/binary"
	"errors"
)

// A typeTable is the part of a program that has its type descriptors.
type typeTable struct {
	start uint64
	data  []byte
}

// readTypeTable finds the type descriptors (go1.26, go1.27: cmd/link/internal/ld/data.go).
func readTypeTable(f *elf.File, symbols map[string]elf.Symbol) (*typeTable, error) {
	start, end := symbols["runtime.types"].Value, symbols["runtime.etypes"].Value
	if start == 0 || end <= start || end-start > 1<<30 {
		return nil, errors.New("the test binary has no table of types: this Go version is not known to leakgate alloc")
	}
	data := readMemory(f, start, end-start)
	if data == nil {
		return nil, errors.New("the test binary's table of types cannot be read")
	}
	return &typeTable{start, data}, nil
}

// Kinds, flags and offsets of internal/abi.Type; go1.26 and go1.27 have the same.
const (
	kindArray, kindChan, kindFunc, kindInterface, kindMap = 17, 18, 19, 20, 21
	kindPointer, kindSlice, kindStruct                    = 22, 23, 25
	flagUncommon                                          = 1
	flagsAt, kindAt, commonSize                           = 20, 23, 48
)

// uncommonAt is where a descriptor's uncommon type lies, whose first field is the package's path.
// That of a map differs by version.
var uncommonAt = map[byte]uint64{
	kindArray: 72, kindChan: 64, kindFunc: 56, kindInterface: 80, kindPointer: 56, kindSlice: 56, kindStruct: 80,
}

// packageOf returns the import path of the package that a named type is declared in; "" for other
// types, and where it is not known.
func (t *typeTable) packageOf(address uint64) string {
	descriptor := t.at(address, commonSize)
	if descriptor == nil || descriptor[flagsAt]&flagUncommon == 0 {
		return ""
	}
	kind := descriptor[kindAt] & 31
	at, ok := uncommonAt[kind]
	if !ok {
		at = commonSize
	}
	uncommon := t.at(address+at, 4)
	if uncommon == nil || kind == kindMap {
		return ""
	}
	return t.nameAt(t.start + uint64(binary.LittleEndian.Uint32(uncommon)))
}

// nameAt reads a name: flags, its length as a varint, its bytes (internal/abi/type.go, Name).
func (t *typeTable) nameAt(address uint64) string {
	if address == t.start {
		return ""
	}
	head := t.at(address+1, 3)
	if head == nil {
		return ""
	}
	length, size := binary.Uvarint(head)
	if size <= 0 {
		return ""
	}
	return string(t.at(address+1+uint64(size), length))
}

func (t *typeTable) at(address, size uint64) []byte {
	if address < t.start || address+size > t.start+uint64(len(t.data)) {
		return nil
	}
	return t.data[address-t.start:][:size]
}
