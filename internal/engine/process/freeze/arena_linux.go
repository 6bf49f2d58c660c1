//go:build linux && (amd64 || arm64)

package freeze

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
)

// arena is a file that is kept in memory, and the mappings through which this process reads it. It
// grows by further mappings, never moves, and releases all memory at once.
type arena struct {
	file     int   // -1 once closed
	disk     bool  // the file is on a disk
	size     int64 // of the file
	mappings [][]byte
	free     window // the unused rest of the newest mapping
}

// window is a piece of the file and its mapping, both page-aligned.
type window struct {
	data   []byte
	offset int64 // in the file
}

const (
	arenaGrowth = 1 << 20
	pageSize    = 4096 // the smallest page of the supported systems; only a unit of alignment here

	madvDontFork = 10 // madvise(2), the same on all architectures
)

// imageFolders are tried first if there is no memfd; a variable, so that tests can leave them out.
var imageFolders = []string{"/dev/shm"}

// openMemory returns a file without a name, with a descriptor of at least 3: a memfd, or where a
// seccomp filter forbids memfd_create, an unlinked temporary file, in memory if there is /dev/shm.
func openMemory() (int, error) {
	name, err := syscall.BytePtrFromString("leakgate")
	if err != nil {
		return -1, err
	}
	const closeOnExec = 1 // MFD_CLOEXEC
	fd, _, errno := syscall.Syscall(sysMemfdCreate, uintptr(unsafe.Pointer(name)), closeOnExec, 0)
	if errno == 0 {
		return aboveStandard(int(fd))
	}
	refused := &remedy.Error{Call: "memfd_create", Err: errno}
	if errno == syscall.EMFILE || errno == syscall.ENFILE {
		return -1, refused
	}
	instead := make([]error, 0, 2)
	for _, dir := range append(imageFolders, os.TempDir()) {
		fd, err := openUnnamed(dir)
		if err == nil {
			return aboveStandard(fd)
		}
		instead = append(instead, fmt.Errorf("%s: %w", dir, err))
	}
	return -1, fmt.Errorf("%w, and no temporary file either: %w", refused, errors.Join(instead...))
}

// openUnnamed makes a file and removes its name. (Package os would set up the network poller, which
// shows in the program's descriptors.)
func openUnnamed(dir string) (int, error) {
	name := dir + "/leakgate-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	fd, err := syscall.Open(name, syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return -1, err
	}
	if err := syscall.Unlink(name); err != nil {
		closeDescriptor(fd)
		return -1, err
	}
	return fd, nil
}

// aboveStandard moves a descriptor out of the range that the child uses (0 and 1). It lies there if
// this process runs without standard input or output.
func aboveStandard(fd int) (int, error) {
	if fd > 2 {
		return fd, nil
	}
	moved, err := duplicate(fd)
	syscall.Close(fd)
	return moved, err
}

// duplicate returns a close-on-exec duplicate that is at least 3.
func duplicate(fd int) (int, error) {
	moved, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 3)
	if errno != 0 {
		return -1, &remedy.Error{Call: "fcntl", For: "F_DUPFD_CLOEXEC", Err: errno}
	}
	return int(moved), nil
}

// reserve returns n zero bytes of the file. They take memory only when they are written.
func (a *arena) reserve(n int64) (window, error) {
	n = alignUp(n, pageSize)
	if int64(len(a.free.data)) < n {
		if err := a.grow(alignUp(n, arenaGrowth)); err != nil {
			return window{}, err
		}
	}
	w := window{a.free.data[:n:n], a.free.offset}
	a.free = window{a.free.data[n:], a.free.offset + n}
	return w, nil
}

func (a *arena) grow(n int64) error {
	// A file over the limit would bring SIGXFSZ, which ends a Go program.
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err == nil && uint64(a.size+n) > limit.Cur {
		return &remedy.Error{Call: "ftruncate", For: fmt.Sprintf("an image file of %d bytes; the limit is %d", a.size+n, limit.Cur), Err: syscall.EFBIG}
	}
	if err := syscall.Ftruncate(a.file, a.size+n); err != nil {
		return &remedy.Error{Call: "ftruncate", For: fmt.Sprintf("an image file of %d bytes", a.size+n), Err: err}
	}
	data, err := syscall.Mmap(a.file, a.size, int(n), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return &remedy.Error{Call: "mmap", For: fmt.Sprintf("%d bytes of the image file", n), Err: err}
	}
	// A later snapshot's child does not need the mapping, and would keep its memory after close.
	if err := syscall.Madvise(data, madvDontFork); err != nil {
		return errors.Join(&remedy.Error{Call: "madvise", For: "MADV_DONTFORK", Err: err}, syscall.Munmap(data))
	}
	if a.disk {
		// The scan follows references, and readahead of 128 KB for each would push out what is of
		// use. An error only makes it slower.
		_ = syscall.Madvise(data, syscall.MADV_RANDOM)
	}
	a.mappings = append(a.mappings, data)
	a.free = window{data, a.size}
	a.size += n
	return nil
}

// close releases the memory. Slices handed out are invalid from here on.
func (a *arena) close() error {
	var errs []error
	for _, m := range a.mappings {
		errs = append(errs, syscall.Munmap(m))
	}
	if a.file >= 0 {
		errs = append(errs, syscall.Close(a.file))
	}
	*a = arena{file: -1}
	return errors.Join(errs...)
}

func alignUp(n, to int64) int64 { return (n + to - 1) &^ (to - 1) }
