package golden

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// Read reads and parses the golden file at path. It fails with an error that is fs.ErrNotExist if
// there is none, with those of Parse, and with a *CaseError if the file on disk has another case
// than path.
func Read(path string) (*File, error) {
	if _, err := linked(path); err != nil {
		return nil, fmt.Errorf("golden: read: %w", err)
	}
	data, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("golden: read: %w", err)
	}
	if err := checkCase(path); err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// readBounded reads no more than Parse needs to see that a file is too large.
func readBounded(path string) ([]byte, error) {
	file, err := wholefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	size := min(info.Size(), MaxSize)
	data := make([]byte, size+1)
	n, err := io.ReadFull(file, data)
	switch {
	case err == nil && size < MaxSize:
		return nil, fmt.Errorf("%s: it grew while it was read", path)
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return nil, err
	}
	return data[:n], nil
}

// Write writes f to path, with the folders above it. It writes to a temporary name beside path and
// renames that, so a reader sees the old file or the new one; an existing file keeps its mode, and
// a symbolic link stays one. If the file has the same text already, CRLF line ends apart, nothing
// is touched. A name that differs only in case from an existing one gives a *CaseError.
func Write(path string, f *File) error {
	data := f.Bytes()
	if len(data) > MaxSize {
		return fmt.Errorf("golden: write %s: %d bytes are more than a golden file may have (%d)", path, len(data), MaxSize)
	}
	if err := checkCase(path); err != nil {
		return err
	}
	target, err := linked(path)
	if err != nil {
		return fmt.Errorf("golden: write: %w", err)
	}
	mode := fs.FileMode(0o644)
	switch old, err := readBounded(path); {
	case err == nil:
		if sameText(old, data) {
			return nil
		}
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("golden: write: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("golden: write %s: %w", path, err)
	}
	if err = wholefile.WriteData(target, mode, data); err != nil {
		return fmt.Errorf("golden: write %s: %w", path, err)
	}
	return nil
}

// linked follows symbolic links at path, but not links among the folders above it: opening the file
// follows these. A link has to lead to a file with the same extension, in the same module: it comes
// with a checkout, and errors quote what is read.
func linked(path string) (string, error) {
	const most = 40 // as Linux does
	file := path
	for range most {
		target, err := os.Readlink(file)
		if err != nil {
			break // no link, the usual case; reading and writing report errors
		}
		if !filepath.IsAbs(target) {
			dir, _ := filepath.Split(file)
			target = dir + target // not cleaned: in link/.. the parent is that of the link's target
		}
		file = target
	}
	switch {
	case file == path:
	case filepath.Ext(file) != filepath.Ext(path):
		return "", fmt.Errorf("%s is a link to %s, which is no golden file by its name", path, file)
	default:
		if from, to := moduleOf(path), moduleOf(file); from != to {
			return "", fmt.Errorf("%s is a link to %s, outside of its module: write golden files in place", path, file)
		}
	}
	return file, nil
}

// moduleOf returns the folder of the module that a file is in, without links; "" if there is none.
func moduleOf(file string) string {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	for ; err == nil; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && info.Mode().IsRegular() {
			return dir
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
	return ""
}

// sameText compares two texts without regard to how git converts line ends at a checkout.
func sameText(a, b []byte) bool {
	const crlf, lf = "\r\n", "\n"
	return strings.ReplaceAll(string(a), crlf, lf) == strings.ReplaceAll(string(b), crlf, lf)
}

// checkCase looks for a file or folder that path would collide with on systems that do not tell
// case apart. It checks the last element of path, and every element below a folder "testdata".
func checkCase(path string) error {
	path = filepath.Clean(path)
	elements := []string{filepath.Base(path)}
	parent := filepath.Dir(path)
	for dir := parent; ; dir = filepath.Dir(dir) {
		name := filepath.Base(dir)
		if name == "testdata" {
			parent = dir
			break
		}
		if filepath.Dir(dir) == dir || name == "." || name == ".." {
			elements = elements[len(elements)-1:] // no testdata above
			break
		}
		elements = append([]string{name}, elements...)
	}
	for _, name := range elements {
		entries, err := readDir(parent)
		if err != nil {
			return nil // reading or writing the file itself reports the error
		}
		var exact bool
		var other string
		lower := strings.ToLower(name)
		for _, e := range entries {
			exact = exact || e.Name() == name
			if e.Name() != name && strings.ToLower(e.Name()) == lower {
				other = e.Name()
			}
		}
		if other != "" && !exact {
			return &CaseError{Path: path, Existing: filepath.Join(parent, other)}
		}
		if !exact {
			return nil
		}
		parent = filepath.Join(parent, name)
	}
	return nil
}

// readDir lists a folder in any order.
func readDir(dir string) ([]os.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}
