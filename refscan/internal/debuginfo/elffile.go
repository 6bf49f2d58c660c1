package debuginfo

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"

	"github.com/leakgate/leakgate/internal/fmterr"
)

// elfFile is an opened ELF executable. Its bytes are mapped, or read where mapping is not available.
type elfFile struct {
	Type, Machine uint16
	Segments      []elfSegment
	Sections      []elfSection
	data          []byte
	unmap         func() error
}

func openELF(path string) (*elfFile, error) {
	data, unmap, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parseELF(data)
	if err != nil {
		_ = unmap()
		return nil, fmterr.Errorf("%s: %w", path, err)
	}
	f.unmap = unmap
	return f, nil
}

func (f *elfFile) Close() error { return f.unmap() }

// contents returns a section's bytes: a part of the mapped file, or a decompressed copy.
// A section that is absent has none.
func (f *elfFile) contents(name string) ([]byte, error) {
	s := f.Section(name)
	if s == nil {
		return nil, nil
	}
	return f.bytes(s)
}

// at returns n bytes at a link-time address, nil if the file has none there.
func (f *elfFile) at(addr, n uint64) []byte {
	for i := range f.Segments {
		p := &f.Segments[i]
		if p.Type != segmentLoad || addr < p.Vaddr || addr-p.Vaddr >= p.Filesz || n > p.Filesz-(addr-p.Vaddr) {
			continue
		}
		off := p.Off + (addr - p.Vaddr)
		if off > uint64(len(f.data)) || n > uint64(len(f.data))-off {
			return nil
		}
		return f.data[off : off+n]
	}
	return nil
}

// hasDWARF reports whether the linker kept debug information.
func (f *elfFile) hasDWARF() bool {
	s := f.Section(".debug_info")
	return s != nil && s.Size > 0
}

// buildID returns the Go build ID of the note that cmd/link writes (go1.26 cmd/link/internal/ld/elf.go,
// ELF_NOTE_BUILDINFO_TAG: name "Go\0\0", type 4), or a hash of the file if there is none.
func (f *elfFile) buildID() string {
	if b, err := f.contents(".note.go.buildid"); err == nil {
		if id := goNote(b); id != "" {
			return id
		}
	}
	for _, p := range f.Segments {
		if p.Type != segmentNote || p.Off > uint64(len(f.data)) || p.Filesz > uint64(len(f.data))-p.Off {
			continue
		}
		if id := goNote(f.data[p.Off : p.Off+p.Filesz]); id != "" {
			return id
		}
	}
	sum := sha256.Sum256(f.data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// goNote finds Go's build ID in a list of ELF notes.
func goNote(b []byte) string {
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

var errNoBuildInfo = errors.New("no Go build information in the file")

// goVersion reads the Go version from the build information blob (go1.26 debug/buildinfo/buildinfo.go:
// magic, pointer size, flags; flag 2 means that varint-prefixed strings follow at offset 32).
func (f *elfFile) goVersion() (string, error) {
	b, err := f.contents(".go.buildinfo")
	if err != nil {
		return "", err
	}
	const magic = "\xff Go buildinf:"
	if len(b) < 33 || string(b[:len(magic)]) != magic || b[15]&2 == 0 {
		return "", errNoBuildInfo
	}
	n, used := binary.Uvarint(b[32:])
	if used <= 0 || n > uint64(len(b)-32-used) {
		return "", errNoBuildInfo
	}
	return string(b[32+used:][:n]), nil
}

// defaultExecutable is the running program. /proc/self/exe works even when the file has been moved or deleted.
func defaultExecutable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}

// isSelf reports whether a file is the running program's.
func isSelf(path string) bool {
	self, err := defaultExecutable()
	if err != nil {
		return false
	}
	a, errA := os.Stat(self)
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
