//go:build linux && (amd64 || arm64)

package inplace

import (
	"bytes"
	"os"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/procfs"
)

// readOnlyMemory lists the memory that nobody may write to in the program files that hold the
// tables; it returns nil without /proc. Other mappings without the right to write are the program's
// own: they may be longer than their file, or be gone when they are read.
func readOnlyMemory(tables []image.Range) []image.Range {
	list, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	return readOnly(list, tables)
}

// readOnly lists the mappings that may be read but not written to, of the files that hold a table.
// It joins mappings that touch. The mappings of a program file follow each other, up to the
// program's variables, which have no file. That tells them from other mappings of the same file.
func readOnly(list []byte, tables []image.Range) []image.Range {
	var found, ofFile []image.Range
	var file []byte
	holds := false // whether the mappings of this file hold a table
	end := func() {
		if holds {
			found = append(found, ofFile...)
		}
		ofFile, holds = nil, false
	}
	for a := range procfs.Areas(list) {
		if !bytes.Equal(a.Name, file) {
			end()
			file = a.Name
		}
		r := image.Range{Addr: a.Start, Len: a.End - a.Start}
		holds = holds || r.Overlaps(tables)
		if a.Constant() && bytes.HasPrefix(file, []byte("/")) {
			ofFile = append(ofFile, r)
		}
	}
	end()
	return image.Union(found)
}
