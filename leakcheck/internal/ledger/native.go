package ledger

import "github.com/leakgate/leakgate/leakcheck/internal/native"

// NativeBlocks is the group of all blocks of malloc, AllNative the name of their bytes.
const (
	NativeBlocks = "native blocks"
	AllNative    = "native memory"
)

// AddNative adds the blocks that C code has from malloc.
func (l *Ledger) AddNative(h *native.Heap) {
	item := func(k Kind, size int64, name, group string) {
		l.Items = append(l.Items, Item{Kind: k, Names: [levels]string{name, group, group}, Size: size})
	}
	for _, size := range h.SizesUp() {
		item(Native, h.Sizes[size], native.SizeName(size), NativeBlocks)
	}
	if h.Mapped > 0 {
		item(Native, h.Mapped, native.MappedBlocks, NativeBlocks)
	}
	item(NativeBytes, h.Bytes, AllNative, AllNative)
}
