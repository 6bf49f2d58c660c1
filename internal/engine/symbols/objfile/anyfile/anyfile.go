// Package anyfile reads executables in all supported formats. A test binary on Linux does not link
// it.
package anyfile

import (
	"errors"
	"io"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// Open opens an executable.
func Open(path string) (*objfile.File, error) { return objfile.Open(path, Read) }

// Read is an objfile.Reader of all supported formats.
func Read(r io.ReaderAt, size int64) (*objfile.File, error) {
	var errs []error
	for _, read := range []objfile.Reader{objfile.ReadELF, ReadPE, ReadMachO} {
		f, err := read(r, size)
		if err == nil {
			return f, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
