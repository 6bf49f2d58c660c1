//go:build (linux || windows || darwin) && (amd64 || arm64)

package inplace

import (
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
)

// constants returns the memory of this process that nobody may write to, and the tables of the
// modules, to which nobody does write.
func (p *Plan) constants() []image.Piece {
	tables := image.Union(p.tables)
	found := readOnlyMemory(tables)
	// If the system lists no read-only memory, or the linker puts tables into memory that is
	// written to once (-buildmode=pie), the modules' own bounds cover most of the memory that is
	// read.
	for _, table := range tables {
		if !within(found, table) {
			found = append(found, table)
		}
	}
	pieces := make([]image.Piece, len(found))
	for i, r := range found {
		pieces[i] = image.Piece{Addr: r.Addr, Data: offheap.Bytes(uintptr(r.Addr), uintptr(r.Len))}
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
