// Package anyfile reads executables in all supported formats.
package anyfile

import (
	"errors"
	"io"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/elffile"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/machofile"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/pefile"
)

// Open opens an executable.
func Open(path string) (*objfile.File, error) { return objfile.Open(path, New) }

// New is an objfile.Reader.
func New(r io.ReaderAt, size int64) (*objfile.File, error) {
	var errs []error
	for _, read := range []objfile.Reader{elffile.New, pefile.New, machofile.New} {
		f, err := read(r, size)
		if err == nil {
			return f, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
