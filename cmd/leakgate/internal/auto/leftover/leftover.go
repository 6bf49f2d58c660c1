// Package leftover finds what tests left in the folder of their package since they were ended
// before they could remove it.
package leftover

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxEntries is how many files a folder may have for what is new in it to be told.
const maxEntries = 20000

// A Folder is what lay in a package's folder before its tests ran.
type Folder struct {
	dir    string
	except []string
	before map[string]bool // nil: too many
}

// Look lists a folder, with all below but other packages. It leaves out folders that others write
// to, given in full.
func Look(dir string, except ...string) *Folder {
	f := &Folder{dir: dir, except: except}
	f.before = f.list(nil)
	return f
}

// list returns the entries by path. Below what known does not have it does not look.
func (f *Folder) list(known map[string]bool) map[string]bool {
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

// isPackage reports whether a folder has Go files, whose tests may be running, too.
func isPackage(dir string) bool {
	if strings.Contains(filepath.ToSlash(dir), "/testdata") {
		return false
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return len(files) > 0
}

// Move moves what is new to another folder, and returns the paths below the package's folder. What
// cannot be moved stays, and is not among them.
func (f *Folder) Move(to string) []string {
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
