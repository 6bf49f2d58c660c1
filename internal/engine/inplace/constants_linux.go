//go:build linux && (amd64 || arm64)

package inplace

import (
	"bytes"
	"os"

	"github.com/leakgate/leakgate/internal/engine/image"
	"github.com/leakgate/leakgate/internal/procmaps"
)

// readOnlyMemory lists the memory that nobody may write to of the program files that the tables lie
// in, nothing where there is no /proc. What else is mapped without the right to write is the
// program's own: it may be longer than its file, or gone when it is read.
func readOnlyMemory(tables []image.Range) []image.Range {
	list, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	return readOnly(list, tables)
}

// readOnly lists the mappings that may be read but not written to of files that hold a table; those
// that touch are one. The mappings of a program file follow each other, up to its variables without
// a file, which tells them from others of the same file.
func readOnly(list []byte, tables []image.Range) []image.Range {
	var found, ofFile []image.Range
	var file []byte
	holds := false // whether a table lies in the mappings of this file
	end := func() {
		if holds {
			found = append(found, ofFile...)
		}
		ofFile, holds = nil, false
	}
	for line := range bytes.Lines(list) {
		a, ok := procmaps.Parse(bytes.TrimSpace(line))
		if !ok {
			continue
		}
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
