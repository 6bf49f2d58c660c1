package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// maxFile bounds the size of a file, or of what a server sends, which could be endless.
const maxFile = 1 << 30

// ReadFile reads a file of at most 1 GiB.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadAll(f, path)
}

// ReadAll reads r to its end, at most 1 GiB. source names it in errors.
func ReadAll(r io.Reader, source string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", source, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", source, maxFile)
	}
	return data, nil
}
