//go:build linux && (amd64 || arm64)

package inplace

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/freeze"
	"github.com/leakgate/leakgate/internal/engine/image"
	"github.com/leakgate/leakgate/internal/engine/remedy"
)

// madvNoHugePage: huge pages would take memory between the pages that are written to.
const madvNoHugePage = 15

// reserve takes address space, which takes memory as it is written to.
func (i *Image) reserve(size int64) ([]byte, error) {
	b, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		refused := &remedy.Error{Call: "mmap", For: fmt.Sprintf("%d bytes for a copy of the process", size), Err: err}
		return nil, &freeze.Error{Op: "copying the process in place", Remedy: remedy.Of(refused), Err: refused}
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
		found = readOnly(string(list))
	}
	// Where there is no /proc, and where the linker puts tables among what is written to once
	// (-buildmode=pie), the modules' own bounds say enough for most of what is asked for.
	for _, table := range union(append([]image.Range(nil), p.tables...)) {
		if !within(found, table) {
			found = append(found, table)
		}
	}
	pieces := make([]image.Piece, len(found))
	for i, r := range found {
		pieces[i] = image.Piece{Addr: r.Addr, Data: bytesAt(r.Addr, r.Len)}
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

// readOnly lists the mappings of files that may be read but not written to (proc(5), maps); those
// that touch are one.
func readOnly(list string) (found []image.Range) {
	for line := range strings.Lines(list) {
		// "7f0e4a000000-7f0e4a021000 r--p 00000000 08:01 1234 /path"
		bounds, rest, _ := strings.Cut(line, " ")
		first, last, _ := strings.Cut(bounds, "-")
		low, err1 := strconv.ParseUint(first, 16, 64)
		high, err2 := strconv.ParseUint(last, 16, 64)
		if err1 != nil || err2 != nil || !strings.HasPrefix(rest, "r-") || !strings.Contains(rest, "/") {
			continue
		}
		if n := len(found); n > 0 && found[n-1].End() == low {
			found[n-1].Len += high - low
			continue
		}
		found = append(found, image.Range{Addr: low, Len: high - low})
	}
	return found
}
