package ledger

import (
	"encoding/binary"
	"syscall"

	"github.com/leakgate/leakgate/internal/procmaps"
)

// arenaSize is how much address space glibc takes for an arena, or for a further part of one, at a
// multiple of it (malloc/arena.c, HEAP_MAX_SIZE).
const arenaSize = 64 << 20

// An arenaReader tells glibc's arenas from what else may begin at such a multiple, the Go heap above
// all, by the head of each (malloc/arena.c, heap_info). It reads the memory of this process by the
// system, since what is mapped may be gone by now. The zero value is not ready: memory is -1 until it
// is opened.
type arenaReader struct {
	memory int
	err    error // of the first failure
}

// within returns how many bytes of an area that can be written to are of arenas. An area may have
// several, and other memory that lies beside one.
func (r *arenaReader) within(m *procmaps.Area) (bytes int64) {
	for at := (m.Start + arenaSize - 1) &^ (arenaSize - 1); at < m.End && r.err == nil; at += arenaSize {
		var head [32]byte
		if !r.read(head[:], at) {
			continue
		}
		bytes += min(usedOfArena(&head), int64(m.End-at))
	}
	return bytes
}

// usedOfArena returns how much of a part of an arena can be written to, given its head: the address of
// the arena, which follows the head of its first part, that of the part before, its size, and this
// figure; 0 if it is none.
func usedOfArena(head *[32]byte) int64 {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(head[8*i:]) }
	arena, before, size, used := word(0), word(1), word(2), word(3)
	const page = 4096
	switch infoSize := arena % arenaSize; {
	case arena == infoSize, infoSize != 0x20 && infoSize != 0x30 && infoSize != 0x40:
	case before%arenaSize != 0, size == 0, size > used, used > arenaSize, used%page != 0:
	default:
		return int64(used)
	}
	return 0
}

// read reads memory at an address. It returns false if there is none any more.
func (r *arenaReader) read(b []byte, at uint64) bool {
	if r.memory < 0 {
		if r.memory, r.err = syscall.Open("/proc/self/mem", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); r.err != nil {
			return false
		}
	}
	n, err := syscall.Pread(r.memory, b, int64(at))
	return err == nil && n == len(b)
}

func (r *arenaReader) close() {
	if r.memory >= 0 {
		_ = syscall.Close(r.memory)
	}
}
