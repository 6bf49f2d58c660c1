package goldenset

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/leakgate/leakgate/golden"
)

// A Set is the golden files of packages before a run, by their paths, without files that cannot be
// parsed: the tests say what is wrong with those.
type Set map[string]*golden.File

// ReadSet reads all golden files of packages, given their folders.
func ReadSet(dirs []string) (Set, error) {
	s := make(Set)
	for _, dir := range dirs {
		root := filepath.Join(dir, Below)
		names, err := list(root)
		if err != nil {
			return nil, fmt.Errorf("reading the golden files: %w", err)
		}
		for _, name := range names {
			file := filepath.Join(root, filepath.FromSlash(name))
			if f, err := golden.Read(file); err == nil {
				s[file] = f
			}
		}
	}
	return s, nil
}

// Changes returns how a file differs from what it was when s was read.
func (s Set) Changes(file string) ([]golden.Change, error) {
	now, err := golden.Read(file)
	if err != nil {
		return nil, err
	}
	before := s[file]
	if before == nil {
		before = golden.New(nil)
	}
	return golden.Changes(before, now), nil
}

// Measured has what runs measured for golden files, by their paths.
type Measured map[string][]*golden.File

// Add takes one measurement, which leakcheck wrote to the file text, of the golden file named file.
func (m Measured) Add(file, text string) error {
	f, err := golden.Read(text)
	if err != nil {
		return err
	}
	m[file] = append(m[file], f)
	return nil
}

// A Calibration is the result for one golden file.
type Calibration struct {
	File    string
	Runs    int // measurements that it holds for
	Created bool
	Changes []golden.Change // none: it was not written
}

// Calibrate writes golden files with the tightest bounds that hold for what was measured, and
// returns the result for each, by path. Files that are right already are not written. A file that
// exists and cannot be parsed is an error, and stays.
func (m Measured) Calibrate() ([]Calibration, error) {
	var done []Calibration
	for _, file := range slices.Sorted(maps.Keys(m)) {
		before, err := golden.Read(file)
		created := errors.Is(err, fs.ErrNotExist)
		if err != nil && !created {
			return done, err
		}
		after, changes := golden.Calibrate(before, m[file])
		c := Calibration{File: file, Runs: len(m[file]), Created: created, Changes: changes}
		if created || string(after.Bytes()) != string(before.Bytes()) {
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				return done, err
			}
			if err := golden.Write(file, after); err != nil {
				return done, err
			}
		}
		done = append(done, c)
	}
	return done, nil
}
