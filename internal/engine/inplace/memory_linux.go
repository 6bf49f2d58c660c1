//go:build linux && (amd64 || arm64)

package inplace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/freeze"
	"github.com/leakgate/leakgate/internal/engine/image"
	"github.com/leakgate/leakgate/internal/engine/peek"
	"github.com/leakgate/leakgate/internal/engine/remedy"
	"github.com/leakgate/leakgate/internal/procmaps"
)

// madvNoHugePage: huge pages would take memory between the pages that are written to.
const madvNoHugePage = 15

// reserve takes address space, which takes memory as it is written to.
func (i *Image) reserve(size int64) ([]byte, error) {
	b, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return nil, refusedError(&remedy.Error{Call: "mmap", For: fmt.Sprintf("%d bytes for a copy of the process", size), Err: err})
	}
	i.mappings = append(i.mappings, b)
	_ = syscall.Madvise(b, madvNoHugePage) // it only takes more memory then
	return b, nil
}

// drop gives back all mappings but the first so many.
func (i *Image) drop(keep int) error {
	var errs []error
	for _, b := range i.mappings[min(keep, len(i.mappings)):] {
		if err := syscall.Munmap(b); err != nil {
			errs = append(errs, err)
		}
	}
	i.mappings = i.mappings[:min(keep, len(i.mappings))]
	if err := errors.Join(errs...); err != nil {
		return &freeze.Error{Op: "release", Err: err}
	}
	return nil
}

// constants are the memory of this process that nobody may write to, and the tables of the modules,
// which nobody does write to.
func (p *Plan) constants() []image.Piece {
	var found []image.Range
	list, err := os.ReadFile("/proc/self/maps")
	if err == nil {
		found = readOnly(list)
	}
	// Where there is no /proc, and where the linker puts tables among what is written to once
	// (-buildmode=pie), the modules' own bounds say enough for most of what is asked for.
	for _, table := range image.Union(p.tables) {
		if !within(found, table) {
			found = append(found, table)
		}
	}
	pieces := make([]image.Piece, len(found))
	for i, r := range found {
		pieces[i] = image.Piece{Addr: r.Addr, Data: peek.Bytes(uintptr(r.Addr), uintptr(r.Len))}
	}
	return pieces
}

func within(list []image.Range, r image.Range) bool {
	for _, k := range list {
		if k.Addr <= r.Addr && r.End() <= k.End() {
			return true
		}
	}
	return false
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
