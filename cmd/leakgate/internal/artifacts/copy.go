package artifacts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Adopt copies the folder of an assertion, a slash path as in Record, from another artifacts
// directory. It reports false if that directory does not have the folder.
func (d *Dir) Adopt(from, folder string) (bool, error) {
	if !filepath.IsLocal(filepath.FromSlash(folder)) {
		return false, fmt.Errorf("%s names the artifacts folder %q, which is outside of it", from, folder)
	}
	source := filepath.Join(from, filepath.FromSlash(folder))
	entries, err := os.ReadDir(source)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	target := filepath.Join(d.Path, filepath.FromSlash(folder))
	if err := os.MkdirAll(target, 0o777); err != nil {
		return false, err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue // a subtest's folder has assertions of its own
		}
		if err := copyFile(filepath.Join(target, entry.Name()), filepath.Join(source, entry.Name())); err != nil {
			return false, err
		}
	}
	return true, nil
}

func copyFile(to, from string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := target.Close(); err == nil {
			err = closeErr
		}
	}()
	_, err = io.Copy(target, source)
	return err
}
