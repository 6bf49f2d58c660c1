package artifacts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Adopt copies the folder of an assertion, a slash path as in Record, from another artifacts
// directory. It reports false if that directory does not have the folder. Links are not followed.
func (d *Dir) Adopt(from Folder, folder string) (bool, error) {
	if !strings.HasPrefix(folder, recordsName+"/") || !filepath.IsLocal(filepath.FromSlash(folder)) {
		return false, fmt.Errorf("%s names the artifacts folder %q, which is none of a record", from, folder)
	}
	root, err := os.OpenRoot(string(from))
	if err != nil {
		return false, err
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("artifacts of %s: %w", from, err)
	}
	target := filepath.Join(d.Path, filepath.FromSlash(folder))
	if err := os.MkdirAll(target, 0o777); err != nil {
		return false, err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue // a subtest's folder has assertions of its own
		}
		if err := copyFile(filepath.Join(target, entry.Name()), root, filepath.Join(filepath.FromSlash(folder), entry.Name())); err != nil {
			return false, err
		}
	}
	return true, nil
}

func copyFile(to string, root *os.Root, from string) error {
	source, err := root.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
