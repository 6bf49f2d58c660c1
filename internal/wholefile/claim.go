package wholefile

import (
	"os"
	"path/filepath"
	"strings"
)

// Claim marks a temporary file or folder, which was just made at path and is open as f, as in use
// while f is open. It returns false if RemoveUnclaimed of another process was faster: then make
// another file. Where there are no locks it returns true, and RemoveUnclaimed removes nothing.
func Claim(f *os.File, path string) bool {
	claimed, err := claim(f)
	if err != nil {
		return true
	}
	if !claimed {
		return false
	}
	now, err := os.Lstat(path)
	if err != nil {
		return false
	}
	mine, err := f.Stat()
	return err == nil && os.SameFile(now, mine)
}

// Clean removes the temporary files in dir that killed processes left when they were about to write
// a file there.
func Clean(dir string) { RemoveUnclaimed(dir, ".leakgate"+TemporaryMark) }

// RemoveUnclaimed removes the files and folders in dir with mark in their names that no process has
// claimed: their processes ended before they could remove them. It returns no error: what it cannot
// remove is removed another time.
func RemoveUnclaimed(dir, mark string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // in any order
	for _, name := range names {
		if strings.Contains(name, mark) {
			removeUnclaimed(filepath.Join(dir, name))
		}
	}
}
