package native

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/procfs"
)

// The Go heap may look like an arena: it may begin at a multiple of an arena's size, with memory
// behind it that cannot be accessed yet. It does not count as one.
func TestGoHeapIsNoArena(t *testing.T) {
	text, err := procfs.Read("/proc/self/maps", make([]byte, 16<<10))
	if err != nil {
		t.Fatal(err)
	}
	object := uint64(uintptr(unsafe.Pointer(&text[0])))
	arenas := ArenasOf("/proc/self")
	defer arenas.Close()
	for line := range bytes.Lines(text) {
		m, ok := procfs.Parse(bytes.TrimSuffix(line, []byte("\n")))
		if !ok || object < m.Start || m.End <= object {
			continue
		}
		if got := arenas.Within(&m); got != 0 || arenas.Err != nil {
			t.Errorf("%d bytes of an arena in %s: %v", got, line, arenas.Err)
		}
		t.Logf("the Go heap: %s", line)
		return
	}
	t.Error("the Go heap was not found")
}

// Memory that is in one area with an arena, beside it, does not count as the arena's.
func TestArenaBesideOtherMemory(t *testing.T) {
	memory := make([]byte, 3*nativeheap.HeapMultiple) // two whole multiples at least; touched nowhere else
	start := uint64(uintptr(unsafe.Pointer(&memory[0])))
	at := (start + nativeheap.HeapMultiple - 1) &^ (nativeheap.HeapMultiple - 1)
	put := func(off, word uint64) { binary.LittleEndian.PutUint64(memory[at-start+off:], word) }
	put(0, at+0x30)
	put(16, 0x21000)
	put(24, 0x21000)
	arenas := ArenasOf("/proc/self")
	defer arenas.Close()
	area := procfs.Area{Start: start, End: start + uint64(len(memory))}
	if got := arenas.Within(&area); got != 0x21000 || arenas.Err != nil {
		t.Errorf("%d bytes, %v", got, arenas.Err)
	}
	area.End = at + 0x1000
	if got := arenas.Within(&area); got != 0x1000 {
		t.Errorf("%d bytes, want those of the area", got)
	}
}
