package outcome

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/leakgate/leakgate/internal/verdict"
)

// Sources finds source files.
type Sources struct {
	// folders of packages by import path, relative to the root of the repository
	Dirs   map[string]string
	Exists func(file string) bool // whether there is such a file below that root; nil: none is
}

// FindSources says where the packages lie in their repository, whose root is the nearest folder
// above dir with a .git, else dir itself. Symbolic links are followed: the go command names folders
// by the path on which a shell came there, and git has files at their own.
func FindSources(dir string, folders map[string]string) Sources {
	root, err := filepath.Abs(dir)
	if err != nil {
		return Sources{}
	}
	root = resolved(root)
	for above := root; ; above = filepath.Dir(above) {
		if _, err := os.Stat(filepath.Join(above, ".git")); err == nil {
			root = above
			break
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	dirs := make(map[string]string)
	for path, folder := range folders {
		if rel, err := filepath.Rel(root, resolved(folder)); err == nil && filepath.IsLocal(rel) {
			dirs[path] = filepath.ToSlash(rel)
		}
	}
	return Sources{Dirs: dirs, Exists: func(file string) bool {
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(file)))
		return err == nil && info.Mode().IsRegular()
	}}
}

// resolved returns path without symbolic links, or path itself if that fails.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// place sets the file and line of f: where the root of b is declared, if that is in the repository,
// else those of the assertion a.
func (s Sources) place(f *Finding, p *Package, a *Assertion, b verdict.Bound) {
	if file := s.file(p, b.File); file != "" {
		f.File, f.Line, f.Declared = file, b.Line, true
		return
	}
	if file := s.file(p, a.File); file != "" {
		f.File, f.Line = file, a.Line
	}
}

// file returns a file that a record names, relative to the root of the repository; "" if it is not
// there.
func (s Sources) file(p *Package, name string) string {
	if name == "" || s.Exists == nil {
		return ""
	}
	file := path.Join(p.Dir, name)
	if path.IsAbs(name) || file == ".." || strings.HasPrefix(file, "../") || !s.Exists(file) {
		return ""
	}
	return file
}
