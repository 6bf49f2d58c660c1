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
	locked, err := Try(f)
	if err != nil {
		return true
	}
	if !locked {
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

func removeUnclaimed(path string) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if locked, err := Try(f); err == nil && locked {
		_ = os.RemoveAll(path)
	}
}
