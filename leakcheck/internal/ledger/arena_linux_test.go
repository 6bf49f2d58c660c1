package ledger

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/procmaps"
)

// The heads of arenas, and what lies at the beginning of other memory.
func TestUsedOfArena(t *testing.T) {
	const at, page = 0x7f6d94000000, 4096
	for name, tt := range map[string]struct {
		words [4]uint64
		want  int64
	}{
		"the first part of an arena": {[4]uint64{at + 0x30, 0, 0x21000, 0x21000}, 0x21000},
		"of an older glibc":          {[4]uint64{at + 0x20, 0, 0x21000, 0x22000}, 0x22000},
		"a further part":             {[4]uint64{at + 0x30, at, 33 * page, 40 * page}, 40 * page},
		"a whole one":                {[4]uint64{at + 0x30, at, arenaSize, arenaSize}, arenaSize},
		"zeros":                      {},
		"ones":                       {[4]uint64{1, 1, 1, 1}, 0},
		"a pointer to the middle":    {[4]uint64{at + 0x1230, 0, page, page}, 0},
		"of a small address":         {[4]uint64{0x30, 0, page, page}, 0},
		"larger than there may be":   {[4]uint64{at + 0x30, 0, page, 2 * arenaSize}, 0},
		"less used than it has":      {[4]uint64{at + 0x30, 0, 2 * page, page}, 0},
		"no pages":                   {[4]uint64{at + 0x30, 0, 100, 200}, 0},
		"no part before":             {[4]uint64{at + 0x30, at + page, page, page}, 0},
	} {
		var head [32]byte
		for i, w := range tt.words {
			binary.LittleEndian.PutUint64(head[8*i:], w)
		}
		if got := usedOfArena(&head); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// The Go heap may begin at a multiple of what an arena takes, with memory behind it that cannot be
// accessed yet, as an arena does. It is none.
func TestGoHeapIsNoArena(t *testing.T) {
	text, err := readFile("/proc/self/maps", make([]byte, 16<<10))
	if err != nil {
		t.Fatal(err)
	}
	object := uint64(uintptr(unsafe.Pointer(&text[0])))
	arenas := arenaReader{memory: -1}
	defer arenas.close()
	for line := range bytes.Lines(text) {
		m, ok := procmaps.Parse(bytes.TrimSuffix(line, []byte("\n")))
		if !ok || object < m.Start || m.End <= object {
			continue
		}
		if got := arenas.within(&m); got != 0 || arenas.err != nil {
			t.Errorf("%d bytes of an arena in %s: %v", got, line, arenas.err)
		}
		t.Logf("the Go heap: %s", line)
		return
	}
	t.Error("the Go heap was not found")
}

// Memory beside an arena, with which it is one area, is not the arena's.
func TestArenaBesideOtherMemory(t *testing.T) {
	memory := make([]byte, 3*arenaSize) // two whole multiples at least; touched nowhere else
	start := uint64(uintptr(unsafe.Pointer(&memory[0])))
	at := (start + arenaSize - 1) &^ (arenaSize - 1)
	put := func(off, word uint64) { binary.LittleEndian.PutUint64(memory[at-start+off:], word) }
	put(0, at+0x30)
	put(16, 0x21000)
	put(24, 0x21000)
	arenas := arenaReader{memory: -1}
	defer arenas.close()
	area := procmaps.Area{Start: start, End: start + uint64(len(memory))}
	if got := arenas.within(&area); got != 0x21000 || arenas.err != nil {
		t.Errorf("%d bytes, %v", got, arenas.err)
	}
	area.End = at + 0x1000
	if got := arenas.within(&area); got != 0x1000 {
		t.Errorf("%d bytes, want those of the area", got)
	}
}
