//go:build linux && (amd64 || arm64)

package inplace

import (
	"bytes"
	"os"

	"github.com/leakgate/leakgate/internal/engine/image"
	"github.com/leakgate/leakgate/internal/procmaps"
)

// readOnlyMemory lists the memory of this process that nobody may write to, nothing where there is no
// /proc.
func readOnlyMemory([]image.Range) []image.Range {
	list, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	return readOnly(list)
}

// readOnly lists the mappings of files that may be read but not written to; those that touch are
// one.
func readOnly(list []byte) []image.Range {
	var found []image.Range
	for line := range bytes.Lines(list) {
		if a, ok := procmaps.Parse(bytes.TrimSpace(line)); ok && a.Constant() && bytes.HasPrefix(a.Name, []byte("/")) {
			found = append(found, image.Range{Addr: a.Start, Len: a.End - a.Start})
		}
	}
	return image.Union(found)
}
