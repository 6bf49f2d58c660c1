package nativeholders

import (
	"reflect"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// maxNesting bounds how deep values are nested, as in package heaptype.
const maxNesting = 64

// A trust says for which addresses a word of Go counts as a reference.
type trust uint8

const (
	never    trust = iota // none: the word has small numbers, text, or floating-point numbers
	asNumber              // that of a block's beginning: the word is a number as large as an address
	always                // all: the word is a pointer, or nothing is known of it
)

// allows reports whether a word counts as a reference to a block. atStart: it leads to the block's
// beginning.
func (t trust) allows(atStart bool) bool { return t == always || t == asNumber && atStart }

// trustIn is how far words of a kind are trusted.
func trustIn(kind reflect.Kind) trust {
	switch kind {
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return asNumber
	case reflect.Pointer, reflect.UnsafePointer, reflect.String, reflect.Slice, reflect.Interface, reflect.Chan, reflect.Map, reflect.Func:
		return always
	}
	return never
}

// labelAt names the part of a value at an offset, "pool[*].handle", and returns the trust in its
// word. Unlike the labels of package heaptype it has names for all words, not only for references.
func labelAt(names *debuginfo.Index, id debuginfo.TypeID, off int64) (label string, _ trust) {
	for range maxNesting {
		switch t := names.Type(id); t.Kind {
		case reflect.Struct:
			in := -1
			for i, f := range t.Fields {
				if f.Offset <= off && (in < 0 || f.Offset >= t.Fields[in].Offset) {
					in = i
				}
			}
			if in < 0 {
				return label, never
			}
			label = join(label, t.Fields[in].Name)
			id, off = t.Fields[in].Type, off-t.Fields[in].Offset
		case reflect.Array:
			elem := names.Type(t.Elem)
			if elem.Size <= 0 || off >= t.Size {
				return label, never
			}
			label += "[*]"
			id, off = t.Elem, off%elem.Size
		default:
			return label, trustIn(t.Kind)
		}
	}
	return label, always
}

// join appends a label to a path; "" is the value itself.
func join(path, label string) string {
	if label == "" {
		return path
	}
	return symbol.JoinPath(path, label)
}
