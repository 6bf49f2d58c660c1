package native

import (
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/procfs"
)

// Arenas tells glibc's arenas by their header (malloc/arena.c, heap_info) from other memory that
// begins at a multiple of HeapMultiple, the Go heap above all. It reads through the file mem of the
// process, since the mapping may be gone by now.
type Arenas struct {
	Err    error  // of the first failure
	dir    string // of the process, below /proc
	memory int    // the file's descriptor, -1 until it is opened
}

// ArenasOf returns the arenas of the process with a folder below /proc. They have to be closed.
func ArenasOf(dir string) Arenas { return Arenas{dir: dir, memory: -1} }

// Within returns how many bytes of a writable area belong to arenas. An area may have several
// arenas, and other memory beside them.
func (r *Arenas) Within(m *procfs.Area) (bytes int64) {
	const multiple = nativeheap.HeapMultiple
	for at := (m.Start + multiple - 1) &^ (multiple - 1); at < m.End && r.Err == nil; at += multiple {
		var head [nativeheap.HeapInfoSize]byte
		if !r.read(head[:], at) {
			continue
		}
		bytes += min(nativeheap.WritableOfHeap(&head), int64(m.End-at))
	}
	return bytes
}

// read reads memory at an address. It returns false if the memory is not mapped any more.
func (r *Arenas) read(b []byte, at uint64) bool {
	if r.memory < 0 {
		if r.memory, r.Err = syscall.Open(r.dir+"/mem", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); r.Err != nil {
			return false
		}
	}
	n, err := syscall.Pread(r.memory, b, int64(at))
	return err == nil && n == len(b)
}

// Close closes the file.
func (r *Arenas) Close() {
	if r.memory >= 0 {
		_ = syscall.Close(r.memory)
	}
}
