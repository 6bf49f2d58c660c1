package objfile

import "encoding/binary"

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
	for len(b) >= 12 {
		nameLen := uint64(binary.LittleEndian.Uint32(b))
		descLen := uint64(binary.LittleEndian.Uint32(b[4:]))
		tag := binary.LittleEndian.Uint32(b[8:])
		b = b[12:]
		nameEnd := (nameLen + 3) &^ 3
		descEnd := nameEnd + (descLen+3)&^3
		if nameEnd+descLen > uint64(len(b)) {
			return ""
		}
		if tag == tagGoBuildID && nameLen == 4 && string(b[:4]) == "Go\x00\x00" {
			return string(b[nameEnd : nameEnd+descLen])
		}
		b = b[min(descEnd, uint64(len(b))):]
	}
	return ""
}
