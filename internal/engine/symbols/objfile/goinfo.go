package objfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"runtime/debug"
	"slices"
	"strings"
)

// Identity returns what no other program has: the build ID that the go command made, or a hash of
// the file. Other build systems link with a build ID of their own, which may be the same for all
// programs (rules_go of Bazel: -buildid=redacted), and so can users.
func (f *File) Identity() string {
	f.identity.Do(func() {
		f.identity.text = f.BuildID
		if !isOfGoCommand(f.BuildID) {
			f.identity.text = f.Hash()
		}
	})
	return f.identity.text
}

// isOfGoCommand reports whether a build ID has the form that the go command gives those of
// programs: four hashes, of what the program is made from and of what came out of it (go1.26 and
// 1.27 cmd/go/internal/work/buildid.go).
func isOfGoCommand(id string) bool {
	const hash = 20
	parts := strings.Split(id, "/")
	return len(parts) == 4 && !slices.ContainsFunc(parts, func(p string) bool { return len(p) != hash })
}

// Hash returns the SHA-256 of the file, which identifies a file without a build ID.
func (f *File) Hash() string {
	sum := sha256.New()
	// after a read error, the part that was read still distinguishes the file
	_, _ = io.Copy(sum, io.NewSectionReader(f.r, 0, f.size))
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// The Go build ID in code (go1.26 and 1.27 cmd/link/internal/ld/data.go, textbuildid).
const (
	textIDBegin = "\xff Go build ID: \""
	textIDEnd   = "\"\n \xff"
)

// TextBuildID finds the build ID that the linker puts before the code: where it begins and ends; 0
// and 0 if it is not there. ELF files have it in a note, too.
func TextBuildID(text []byte) (low, high int) {
	low = bytes.Index(text, []byte(textIDBegin))
	if low < 0 {
		return 0, 0
	}
	low += len(textIDBegin)
	n := bytes.Index(text[low:], []byte(textIDEnd))
	if n < 0 {
		return 0, 0
	}
	return low, low + n
}

// ReadTextBuildID returns the build ID before the code, for files that have it nowhere else, or a
// hash of the file if the beginning of its code has none.
func (f *File) ReadTextBuildID() string {
	const head = 64 << 10 // cmd/internal/buildid reads half of that
	if text := f.Section(".text"); text != nil {
		if b, err := f.Raw(text, head); err == nil {
			if low, high := TextBuildID(b); high > low {
				return string(b[low:high])
			}
		}
	}
	return f.Hash()
}

// ErrNoBuildInfo is the error for a file that does not say which Go version made it.
var ErrNoBuildInfo = errors.New("no Go build information in the file")

// GoVersion reads the Go version from the build information.
func (f *File) GoVersion() (string, error) {
	b, _, err := f.buildInfo()
	if err != nil {
		return "", err
	}
	version, _, ok := prefixed(b[buildInfoHeader:])
	if !ok {
		return "", ErrNoBuildInfo
	}
	return string(version), nil
}

// BuildInfo reads the build information. Package debug/buildinfo reads more formats, and brings
// their packages into each test binary.
func (f *File) BuildInfo() (*debug.BuildInfo, error) {
	version, err := f.GoVersion()
	if err != nil {
		return nil, err
	}
	b, _, _ := f.buildInfo()
	_, n, _ := prefixed(b[buildInfoHeader:])
	info := new(debug.BuildInfo)
	// the linker marks both ends of the modules' text
	if text, _, ok := prefixed(b[buildInfoHeader+n:]); ok && len(text) > 2*buildInfoAlign && text[len(text)-buildInfoAlign-1] == '\n' {
		if info, err = debug.ParseBuildInfo(string(text[buildInfoAlign : len(text)-buildInfoAlign])); err != nil {
			return nil, err
		}
	}
	info.GoVersion = version
	return info, nil
}

// BuildInfoRange returns where the build information lies at link time, 0 and 0 if there is none.
func (f *File) BuildInfoRange() (low, high uint64) {
	b, addr, err := f.buildInfo()
	if err != nil {
		return 0, 0
	}
	_, n, ok := prefixed(b[buildInfoHeader:])
	if !ok {
		return 0, 0
	}
	n += buildInfoHeader
	if _, modules, ok := prefixed(b[n:]); ok {
		n += modules
	}
	return addr, addr + uint64(n)
}

// The build information (go1.26 and 1.27 debug/buildinfo/buildinfo.go): magic, pointer size, flags;
// flag 2 means that varint-prefixed strings follow the header, the version and the modules. It has
// a section of its own, or lies in .data, at a multiple of 16.
const (
	buildInfoMagic  = "\xff Go buildinf:"
	buildInfoHeader = 32
	buildInfoAlign  = 16
)

// buildInfo returns the bytes from the build information on, and their address.
func (f *File) buildInfo() ([]byte, uint64, error) {
	for _, name := range [...]string{".go.buildinfo", ".data"} {
		s := f.Section(name)
		if s == nil {
			continue
		}
		b, err := f.SectionBytes(s)
		if err != nil {
			return nil, 0, err
		}
		for off := 0; off+buildInfoHeader < len(b); off += buildInfoAlign {
			if string(b[off:][:len(buildInfoMagic)]) == buildInfoMagic && b[off+15]&2 != 0 {
				return b[off:], s.Addr + uint64(off), nil
			}
		}
	}
	return nil, 0, ErrNoBuildInfo
}

// prefixed returns the string after a uvarint with its length, and the length of both.
func prefixed(b []byte) (s []byte, length int, ok bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return nil, 0, false
	}
	return b[used:][:n], used + int(n), true
}
