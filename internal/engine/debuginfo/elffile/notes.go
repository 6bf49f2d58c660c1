package elffile

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
)

// BuildID returns the Go build ID of the note that cmd/link writes (go1.26
// cmd/link/internal/ld/elf.go, ELF_NOTE_BUILDINFO_TAG: name "Go\0\0", type 4), or a hash of the
// file if there is none.
func (f *File) BuildID() string {
	if b, err := f.Contents(".note.go.buildid"); err == nil {
		if id := NoteBuildID(b); id != "" {
			return id
		}
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOTE {
			continue
		}
		if b, err := f.SectionBytes(s); err == nil {
			if id := NoteBuildID(b); id != "" {
				return id
			}
		}
	}
	sum := sha256.New()
	// what can be read tells it from others
	_, _ = io.Copy(sum, io.NewSectionReader(f.r, 0, f.size))
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
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

// ErrNoBuildInfo is the error for a file that does not say which Go version made it.
var ErrNoBuildInfo = errors.New("no Go build information in the file")

// GoVersion reads the Go version from the build information blob (go1.26
// debug/buildinfo/buildinfo.go: magic, pointer size, flags; flag 2 means that varint-prefixed
// strings follow at offset 32).
func (f *File) GoVersion() (string, error) {
	b, err := f.Contents(".go.buildinfo")
	if err != nil {
		return "", err
	}
	const magic = "\xff Go buildinf:"
	if len(b) < 33 || string(b[:len(magic)]) != magic || b[15]&2 == 0 {
		return "", ErrNoBuildInfo
	}
	n, used := binary.Uvarint(b[32:])
	if used <= 0 || n > uint64(len(b)-32-used) {
		return "", ErrNoBuildInfo
	}
	return string(b[32+used:][:n]), nil
}
