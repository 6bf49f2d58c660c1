package goldenset

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// A File is one golden file.
type File struct {
	Path  string // of the file, below the package's folder as Packages returned it
	Name  string // slash path below testdata/leakcheck: "TestLogout/two_users.golden"
	State State
	// the test or golden name that the file belongs to; for Orphaned the one that is missing
	Owner string
	Why   string // for Orphaned and Unclear: what was looked for
}

// State says whether a golden file belongs to a test.
type State string

// The states.
const (
	Owned    State = "owned"
	Orphaned State = "orphaned" // no test of the package can read or write it
	Unclear  State = "unclear"  // it may belong to a test: the tests' text does not tell
)

// Find returns the golden files of the package in folder, sorted by path; none if it has none.
// links reports whether the package's test binary links leakcheck. It is called only if no test
// file imports leakcheck itself, and returns true if that cannot be told.
//
// A file belongs to the test function that its name begins with, whatever subtest follows: names of
// subtests are made at run time. Or it belongs to a string literal in a test file that is its name,
// as in leakcheck.Golden("idle").
func Find(folder string, links func() bool) ([]File, error) {
	names, err := list(filepath.Join(folder, Below))
	if err != nil || len(names) == 0 {
		return nil, err
	}
	ts, err := readTests(folder)
	if err != nil {
		return nil, err
	}
	unused := len(names) > 0 && !ts.leakcheck && !ts.broken() && !links()
	files := make([]File, len(names))
	for i, name := range names {
		f := File{Path: filepath.Join(folder, Below, filepath.FromSlash(name)), Name: name}
		f.State, f.Owner, f.Why = ts.owner(name)
		if unused {
			f.State, f.Why = Orphaned, "no test there uses leakcheck"
		}
		files[i] = f
	}
	return files, nil
}

// list returns the golden files below a folder as slash paths, sorted; none if there is no folder.
// It removes what killed processes left there.
func list(folder string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case path == folder && errors.Is(err, fs.ErrNotExist):
			return filepath.SkipAll
		case err != nil:
			return err
		case strings.Contains(entry.Name(), wholefile.TemporaryMark):
			wholefile.Clean(filepath.Dir(path))
			return nil
		case entry.IsDir() || !strings.HasSuffix(path, golden.Extension):
			return nil
		}
		rel, err := filepath.Rel(folder, path)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	sort.Strings(names)
	return names, err
}

// Remove removes a golden file, and the folders of golden files that are empty afterwards.
func (f File) Remove() error {
	if err := os.Remove(f.Path); err != nil {
		return err
	}
	// A subtest's folders, leakcheck and testdata: as many as the name has elements, and one more.
	dir := filepath.Dir(f.Path)
	for range strings.Count(f.Name, "/") + 2 {
		if os.Remove(dir) != nil {
			break // not empty
		}
		dir = filepath.Dir(dir)
	}
	return nil
}
