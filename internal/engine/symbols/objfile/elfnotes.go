package objfile

import (
	"encoding/binary"
	"iter"
	"strings"
)

// elfBuildID returns the Go build ID of the note that cmd/link writes (go1.26
// cmd/link/internal/ld/elf.go, ELF_NOTE_BUILDINFO_TAG: name "Go\0\0", type 4), or a hash of the
// file if there is none.
func elfBuildID(f *File, sections []elfSection) string {
	for _, s := range sections {
		if s.kind != ofNotes && s.Name != ".note.go.buildid" {
			continue
		}
		if b, err := f.SectionBytes(s.Section); err == nil {
			if id := NoteBuildID(b); id != "" {
				return id
			}
		}
	}
	return f.Hash()
}

// NoteBuildID finds Go's build ID in a list of ELF notes, "" if it is not there.
func NoteBuildID(b []byte) string {
	const tagGoBuildID = 4
	for n := range Notes(b, binary.LittleEndian) {
		if n.Kind == tagGoBuildID && n.Name == "Go" {
			return string(n.Data)
		}
	}
	return ""
}

// A Note is an ELF note.
type Note struct {
	Name string // without zeros at its end
	Kind uint32
	Data []byte
}

// Notes yields the notes of a list, up to the first one that is cut off.
func Notes(b []byte, order binary.ByteOrder) iter.Seq[Note] {
	return func(yield func(Note) bool) {
		for len(b) >= 12 {
			nameLen, dataLen := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:]))
			kind := order.Uint32(b[8:])
			b = b[12:]
			at := (nameLen + 3) &^ 3
			if at+dataLen > uint64(len(b)) || !yield(Note{strings.TrimRight(string(b[:nameLen]), "\x00"), kind, b[at:][:dataLen]}) {
				return
			}
			b = b[min(at+(dataLen+3)&^3, uint64(len(b))):]
		}
	}
}
