// Package gnunote reads the notes of ELF files (elf(5)), the linker's build ID among them.
package gnunote

import (
	"encoding/binary"
	"encoding/hex"
	"iter"
	"strings"
)

// A Note is one ELF note.
type Note struct {
	Name string // without the zero at its end
	Type uint32
	Data []byte
}

// All yields the notes of the list in b, up to the first one that is cut off.
func All(b []byte, order binary.ByteOrder) iter.Seq[Note] {
	return func(yield func(Note) bool) {
		for len(b) >= 12 {
			nameLen, dataLen := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:]))
			kind := order.Uint32(b[8:])
			b = b[12:]
			at := (nameLen + 3) &^ 3
			if at+dataLen > uint64(len(b)) {
				return
			}
			note := Note{strings.TrimRight(string(b[:nameLen]), "\x00"), kind, b[at:][:dataLen]}
			if !yield(note) {
				return
			}
			b = b[min(at+(dataLen+3)&^3, uint64(len(b))):]
		}
	}
}

// typeBuildID is NT_GNU_BUILD_ID.
const typeBuildID = 3

// BuildID returns the build ID in a list of notes, in hexadecimal; "" if there is none.
func BuildID(notes []byte, order binary.ByteOrder) string {
	for n := range All(notes, order) {
		if n.Type == typeBuildID && n.Name == "GNU" {
			return hex.EncodeToString(n.Data)
		}
	}
	return ""
}
