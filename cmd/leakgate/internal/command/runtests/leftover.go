package runtests

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxEntries is the most entries in a folder for which the new ones are found.
const maxEntries = 20000

// A packageFolder records the contents of a package's folder before its tests ran. It finds the
// files that tests left there because they were ended before they could remove them.
type packageFolder struct {
	dir    string
	except []string
	before map[string]bool // nil: too many entries
}

// lookAt lists a folder with everything below it, but for other packages. It leaves out the folders
// in except, full paths, to which others write.
func lookAt(dir string, except ...string) *packageFolder {
	f := &packageFolder{dir: dir, except: except}
	f.before = f.list(nil)
	return f
}

// entries returns the entries by path. It does not descend into folders that known, if not nil,
// lacks.
func (f *packageFolder) list(known map[string]bool) map[string]bool {
	found := make(map[string]bool)
	err := filepath.WalkDir(f.dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == f.dir {
			return nil
		}
		if len(found) == maxEntries {
			return fs.ErrInvalid
		}
		for _, except := range f.except {
			if name == except {
				return fs.SkipDir
			}
		}
		if entry.Name() == ".git" {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		found[name] = true
		if entry.IsDir() && (known != nil && !known[name] || known == nil && isPackage(name) || known[name] && isPackage(name)) {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return found
}

// isPackage reports whether a folder outside testdata has Go files: its tests may be running, too.
func isPackage(dir string) bool {
	if strings.Contains(filepath.ToSlash(dir), "/testdata") {
		return false
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return len(files) > 0
}

// Move moves new entries to another folder, and returns their paths relative to the package's
// folder. An entry that cannot be moved stays, and is not returned.
func (f *packageFolder) Move(to string) []string {
	if f.before == nil {
		return nil
	}
	var moved []string
	for name := range f.list(f.before) {
		if f.before[name] || !f.before[filepath.Dir(name)] && filepath.Dir(name) != f.dir {
			continue
		}
		rel, err := filepath.Rel(f.dir, name)
		if err != nil {
			continue
		}
		target := filepath.Join(to, rel)
		if os.MkdirAll(filepath.Dir(target), 0o777) == nil && move(name, target) == nil {
			moved = append(moved, filepath.ToSlash(rel))
		}
	}
	return moved
}

// move moves a file or folder, to another file system too.
func move(from, to string) error {
	if os.Rename(from, to) == nil {
		return nil
	}
	info, err := os.Lstat(from)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		err = os.CopyFS(to, os.DirFS(from))
	case info.Mode().IsRegular():
		var data []byte
		if data, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(to, data, info.Mode().Perm())
		}
	} // a link, a pipe or a socket has no content of its own
	if err != nil {
		return err
	}
	return os.RemoveAll(from)
}
