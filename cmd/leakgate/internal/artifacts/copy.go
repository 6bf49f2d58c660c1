package artifacts

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

// Bounds of what Adopt copies: a sparse file of any size takes next to nothing in an upload. They
// are variables for tests.
var (
	mostOfFile int64 = wholefile.Most
	mostInAll  int64 = 4 * wholefile.Most
)

// Adopt copies the folder of an assertion, a slash path as in Record, from another artifacts
// directory. It reports false if that directory does not have the folder. Links are not followed,
// and files beyond the bounds are an error.
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
		name := filepath.Join(filepath.FromSlash(folder), entry.Name())
		n, err := copyFile(filepath.Join(target, entry.Name()), root, name, min(mostOfFile, mostInAll-d.adopted))
		if err != nil {
			return false, fmt.Errorf("artifacts of %s: %s: %w", from, name, err)
		}
		d.adopted += n
	}
	return true, nil
}

// copyFile copies a file of at most limit bytes, and returns how many those are. It copies no part
// of a larger one.
func copyFile(to string, root *os.Root, from string, limit int64) (n int64, err error) {
	source, err := root.Open(from)
	if err != nil {
		return 0, err
	}
	defer func() { _ = source.Close() }()
	info, err := source.Stat()
	if err == nil && info.Size() > limit {
		err = fmt.Errorf("it has %d bytes, and no more than %d of a file are copied, and %d in all: leave out this file, or give leakgate run -max-artifacts-size", info.Size(), mostOfFile, mostInAll)
	}
	if err != nil {
		return 0, err
	}
	target, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(target, io.LimitReader(source, info.Size()))
	return n, errors.Join(err, target.Close())
}
