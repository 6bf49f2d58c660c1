package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// Shown returns a file's path as the user knows it: relative to the current directory if below it.
func Shown(path string) string {
	if wd, err := os.Getwd(); err == nil && filepath.IsAbs(path) {
		if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
	}
	return filepath.ToSlash(path)
}

// ReadFile reads a file that the user names.
func ReadFile(path string) ([]byte, error) { return wholefile.Read(path, wholefile.Most) }

// WriteFile writes a file that a flag names. An ordinary file is written as a whole: a new file
// takes its place, behind links where path is one. What is no ordinary file, such as a pipe,
// /dev/null or the standard output, is opened and written to: a file in its place would take it
// from all other programs.
func WriteFile(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	if err != nil { // it is new, or the error comes again
		return wholefile.Write(path, 0o666, write)
	}
	for _, std := range []*os.File{os.Stdout, os.Stderr} {
		if its, err := std.Stat(); err == nil && os.SameFile(info, its) {
			return write(std) // also a file that a shell has opened: what is in it stays
		}
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return wholefile.Write(path, 0o666, write)
}

// WriteData is WriteFile for data in memory.
func WriteData(path string, data []byte) error {
	return WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
