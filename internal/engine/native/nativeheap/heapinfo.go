package nativeheap

import "encoding/binary"

// HeapMultiple is how much address space glibc takes for an arena other than the first, or for a
// further part of one, at an address that is a multiple of it (malloc/arena.c, HEAP_MAX_SIZE). Each
// begins with a struct heap_info, of which HeapInfoSize bytes are read.
const (
	HeapMultiple = 64 << 20
	HeapInfoSize = 32
)

// heapInfo is a struct heap_info (malloc/arena.c): the address of the arena, which follows the
// heap_info of its first part; the address of the part before; how much of the part is in use, and
// how much of it can be written to.
type heapInfo struct{ arena, before, size, writable uint64 }

func parseHeapInfo(b *[HeapInfoSize]byte) heapInfo {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return heapInfo{word(0), word(1), word(2), word(3)}
}

// isHeapInfoSize reports whether some version of glibc has a struct heap_info of that size.
func isHeapInfoSize(n uint64) bool { return n == 0x20 || n == 0x30 || n == 0x40 }

// WritableOfHeap returns how many bytes of an arena's part can be written to, given the memory at a
// multiple of HeapMultiple; 0 if that is no heap_info. Other memory may begin there, too: the Go
// heap above all.
func WritableOfHeap(b *[HeapInfoSize]byte) int64 {
	const page = 4096
	switch h := parseHeapInfo(b); {
	case !isHeapInfoSize(h.arena % heapMax):
	case h.arena < heapMax, h.before%heapMax != 0, h.size == 0, h.size > h.writable, h.writable > heapMax, h.writable%page != 0:
	default:
		return int64(h.writable)
	}
	return 0
}
