package revision

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// A Store keeps the measurements of revisions of one repository, in the user's cache directory, and
// the worktree in which revisions are measured. The worktree is always in the same folder: the go
// command's cache knows files by their path, and so has the packages that did not change between
// two revisions.
type Store struct {
	dir    string
	unlock func()
}

// maxEntries is how many measurements a store keeps; the oldest go first.
const maxEntries = 20

// OpenStore opens the store of the repository of r. It waits for another process that has it open.
func OpenStore(r *Revision) (*Store, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	s := &Store{dir: filepath.Join(cache, "leakgate", "base", hash(r.top))}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return nil, err
	}
	s.unlock, err = lockedfile.MutexAt(filepath.Join(s.dir, "lock")).Lock()
	return s, err
}

// Close lets the next process have the store.
func (s *Store) Close() { s.unlock() }

// Tree returns the folder in which a worktree may be checked out.
func (s *Store) Tree() string { return filepath.Join(s.dir, "tree") }

// An Entry is the place of one measurement.
type Entry struct {
	Dir   string
	Found bool // Dir has a complete measurement
}

// completeName is the file that marks a measurement as complete.
const completeName = "complete"

// Entry returns the entry for a measurement that depends on keys, an empty entry if there is no
// complete one.
func (s *Store) Entry(keys ...string) (*Entry, error) {
	e := &Entry{Dir: filepath.Join(s.dir, "measured", hash(keys...))}
	if _, err := os.Stat(filepath.Join(e.Dir, completeName)); err == nil {
		e.Found = true
		return e, nil
	}
	if err := os.RemoveAll(e.Dir); err != nil {
		return nil, err
	}
	if err := s.makeRoom(); err != nil {
		return nil, err
	}
	return e, os.MkdirAll(e.Dir, 0o777)
}

// Keep marks the entry as measured.
func (e *Entry) Keep() error {
	return os.WriteFile(filepath.Join(e.Dir, completeName), nil, 0o666)
}

// makeRoom removes the oldest entries until one more may come.
func (s *Store) makeRoom() error {
	entries, err := os.ReadDir(filepath.Join(s.dir, "measured"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	age := func(e fs.DirEntry) int64 {
		info, err := e.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	sort.Slice(entries, func(i, j int) bool { return age(entries[i]) < age(entries[j]) })
	for len(entries) >= maxEntries {
		if err := os.RemoveAll(filepath.Join(s.dir, "measured", entries[0].Name())); err != nil {
			return err
		}
		entries = entries[1:]
	}
	return nil
}

func hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
