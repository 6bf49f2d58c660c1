package ledger

import (
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/procfs"
)

// An arenaReader tells glibc's arenas by their header (malloc/arena.c, heap_info) from other memory
// that begins at a multiple of HeapMultiple, the Go heap above all. It reads through the file mem
// of the process, since the mapping may be gone by now. The zero value is not ready: memory, the
// file's descriptor, must be -1 until the file is opened.
type arenaReader struct {
	of     *process
	memory int
	err    error // of the first failure
}

// within returns how many bytes of a writable area belong to arenas. An area may have several
// arenas, and other memory beside them.
func (r *arenaReader) within(m *procfs.Area) (bytes int64) {
	const multiple = nativeheap.HeapMultiple
	for at := (m.Start + multiple - 1) &^ (multiple - 1); at < m.End && r.err == nil; at += multiple {
		var head [nativeheap.HeapInfoSize]byte
		if !r.read(head[:], at) {
			continue
		}
		bytes += min(nativeheap.WritableOfHeap(&head), int64(m.End-at))
	}
	return bytes
}

// read reads memory at an address. It returns false if the memory is not mapped any more.
func (r *arenaReader) read(b []byte, at uint64) bool {
	if r.memory < 0 {
		if r.memory, r.err = syscall.Open(r.of.dir+"/mem", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); r.err != nil {
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
