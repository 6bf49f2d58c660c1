package symbolize

import (
	"bytes"
	"debug/elf"
	"hash/crc32"
	"io"
	"path/filepath"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// separate finds the separate debug file of a file, as gdb does (its manual, "Separate Debug
// Files"): by the build ID, or by the name and the checksum in .gnu_debuglink. x is nil if there is
// none, or none that belongs to this build.
func separate(path string, f *elfFile, debugDirs []string) (name string, x *elf.File) {
	if len(f.BuildID) > 2 {
		for _, dir := range debugDirs {
			name := filepath.Join(dir, ".build-id", f.BuildID[:2], f.BuildID[2:]+".debug")
			if x := openBuild(name, f.BuildID); x != nil {
				return name, x
			}
		}
	}
	link, sum, ok := debugLink(f.elf)
	if !ok {
		return "", nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	folder := filepath.Dir(path)
	candidates := []string{filepath.Join(folder, link), filepath.Join(folder, ".debug", link)}
	for _, dir := range debugDirs {
		candidates = append(candidates, filepath.Join(dir, folder, link))
	}
	for _, name := range candidates {
		if name == path {
			continue
		}
		if f.BuildID != "" {
			if x := openBuild(name, f.BuildID); x != nil {
				return name, x
			}
		}
		if hasSum(name, sum) {
			if x, err := openImage(name); err == nil {
				return name, x
			}
		}
	}
	return "", nil
}

// openBuild opens a file; nil if it does not have the build ID want.
func openBuild(name, want string) *elf.File {
	x, err := openImage(name)
	if err != nil {
		return nil
	}
	if buildID(x) != want {
		_ = x.Close()
		return nil
	}
	return x
}

// debugLink reads .gnu_debuglink: a name, zeros up to a multiple of four, and a checksum.
func debugLink(x *elf.File) (name string, sum uint32, ok bool) {
	s := x.Section(".gnu_debuglink")
	if s == nil {
		return "", 0, false
	}
	b, err := s.Data()
	if err != nil {
		return "", 0, false
	}
	end := bytes.IndexByte(b, 0)
	if end <= 0 {
		return "", 0, false
	}
	name, at := string(b[:end]), (end+4)&^3
	if at+4 > len(b) || name != filepath.Base(name) {
		return "", 0, false
	}
	return name, x.ByteOrder.Uint32(b[at:]), true
}

func hasSum(name string, want uint32) bool {
	file, err := wholefile.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	h := crc32.NewIEEE()
	_, err = io.Copy(h, file)
	return err == nil && h.Sum32() == want
}
