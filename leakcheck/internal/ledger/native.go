package ledger

import (
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// NativeBlocks is the group of all blocks of malloc, AllNative the name of their bytes, and
// MappedBlocks the name of blocks that have a mapping of their own.
const (
	NativeBlocks = "native blocks"
	AllNative    = "native memory"
	MappedBlocks = "blocks with a mapping each"
)

// AddNative adds the blocks that C code has from malloc.
func (l *Ledger) AddNative(h *nativeheap.Heap) {
	item := func(k Kind, size int64, name, group string) {
		l.Items = append(l.Items, Item{Kind: k, Names: [levels]string{name, group, group}, Size: size})
	}
	for _, size := range h.SizesUp() {
		item(Native, h.Sizes[size], SizeName(size), NativeBlocks)
	}
	if h.Mapped > 0 {
		item(Native, h.Mapped, MappedBlocks, NativeBlocks)
	}
	item(NativeBytes, h.Bytes, AllNative, AllNative)
}

// SizeName is the name of blocks of a size.
func SizeName(size int64) string { return "blocks of " + textfmt.Count(size) + " bytes" }

// BlockName is the name under which a block is counted.
func BlockName(b nativeheap.Block) string {
	if b.Mapped() {
		return MappedBlocks
	}
	return SizeName(b.Size)
}
