package nativeheap

import (
	"encoding/binary"
	"testing"
)

// The heads of arenas, and the beginnings of other memory.
func TestWritableOfHeap(t *testing.T) {
	const at, page = 0x7f6d94000000, 4096
	for name, tt := range map[string]struct {
		words [4]uint64
		want  int64
	}{
		"the first part of an arena": {[4]uint64{at + 0x30, 0, 0x21000, 0x21000}, 0x21000},
		"of an older glibc":          {[4]uint64{at + 0x20, 0, 0x21000, 0x22000}, 0x22000},
		"a further part":             {[4]uint64{at + 0x30, at, 33 * page, 40 * page}, 40 * page},
		"a whole one":                {[4]uint64{at + 0x30, at, HeapMultiple, HeapMultiple}, HeapMultiple},
		"zeros":                      {},
		"ones":                       {[4]uint64{1, 1, 1, 1}, 0},
		"a pointer to the middle":    {[4]uint64{at + 0x1230, 0, page, page}, 0},
		"of a small address":         {[4]uint64{0x30, 0, page, page}, 0},
		"larger than there may be":   {[4]uint64{at + 0x30, 0, page, 2 * HeapMultiple}, 0},
		"less used than it has":      {[4]uint64{at + 0x30, 0, 2 * page, page}, 0},
		"no pages":                   {[4]uint64{at + 0x30, 0, 100, 200}, 0},
		"no part before":             {[4]uint64{at + 0x30, at + page, page, page}, 0},
	} {
		var head [HeapInfoSize]byte
		for i, w := range tt.words {
			binary.LittleEndian.PutUint64(head[8*i:], w)
		}
		if got := WritableOfHeap(&head); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
