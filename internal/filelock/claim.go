package filelock

import (
	"os"
	"path/filepath"
	"strings"
)

// Claim marks a temporary file or folder, which was just made at path and is open as f, as in use
// for as long as f is open. It is false if a RemoveUnclaimed of another process was faster: then
// make another. Where there are no locks it is true, and RemoveUnclaimed removes nothing.
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

// RemoveUnclaimed removes the files and folders in dir with mark in their names that nobody has
// claimed: those of processes that ended before they could. It cannot fail: what is not removed now
// is removed another time.
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
