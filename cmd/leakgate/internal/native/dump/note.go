package dump

import (
	"encoding/binary"
	"encoding/hex"
	"iter"
	"strings"
)

// A note is one ELF note.
type note struct {
	Name string // without the zero at its end
	Type uint32
	Data []byte
}

// notesIn yields the notes of the list in b, up to the first one that is cut off.
func notesIn(b []byte, order binary.ByteOrder) iter.Seq[note] {
	return func(yield func(note) bool) {
		for len(b) >= 12 {
			nameLen, dataLen := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:]))
			kind := order.Uint32(b[8:])
			b = b[12:]
			at := (nameLen + 3) &^ 3
			if at+dataLen > uint64(len(b)) {
				return
			}
			note := note{strings.TrimRight(string(b[:nameLen]), "\x00"), kind, b[at:][:dataLen]}
			if !yield(note) {
				return
			}
			b = b[min(at+(dataLen+3)&^3, uint64(len(b))):]
		}
	}
}

// typeBuildID is NT_GNU_BUILD_ID.
const typeBuildID = 3

// BuildIDOf returns the build ID in a list of notes, in hexadecimal; "" if there is none.
func BuildIDOf(notes []byte, order binary.ByteOrder) string {
	for n := range notesIn(notes, order) {
		if n.Type == typeBuildID && n.Name == "GNU" {
			return hex.EncodeToString(n.Data)
		}
	}
	return ""
}
