//go:build linux && (amd64 || arm64)

package freeze

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
)

// ErrNoDisk says that there is no folder on a disk with enough room for an image.
var ErrNoDisk = errors.New("no folder for temporary files is on a disk with enough room")

// diskFolders are tried for an image on a disk before the folder for temporary files, which is
// often kept in memory; /var/tmp is not (file-hierarchy(7)). A variable for tests.
var diskFolders = []string{"/var/tmp"}

// DiskShare is the reciprocal of the part of an image on a disk that has to fit into memory: a
// third. With less memory the scan would wait for the disk all the time: it reads the image several
// times, each time in another order.
const DiskShare = 3

// diskPiece bounds the bytes of an image on a disk that are in memory and that the kernel cannot
// reclaim, since they are not on the disk yet.
const diskPiece = 8 << 20

// TakeOnDisk is TakeWhen with an image of about size bytes in a file on a disk, so that the kernel
// can reclaim its pages when memory is short, and read them again. The file has no name, and no
// other process may open it. If no folder has room, the error is ErrNoDisk.
//
// Copies take as long as the disk needs to write them. Reading them may have to wait for the disk,
// too.
func TakeOnDisk(size int64, ready func() bool) (*Process, error) {
	return takeAlone(ready, func() (arena, error) {
		fd, err := openDisk(size)
		return arena{file: fd, disk: true}, err
	})
}

// openDisk opens a file without a name on a disk that has room for size bytes.
func openDisk(size int64) (int, error) {
	for _, dir := range append(diskFolders[:len(diskFolders):len(diskFolders)], os.TempDir()) {
		var room syscall.Statfs_t
		if err := syscall.Statfs(dir, &room); err != nil || int64(room.Bavail)*room.Bsize < size {
			continue
		}
		fd, err := openUnnamed(dir)
		if err != nil {
			continue
		}
		if fd, err = aboveStandard(fd); err != nil {
			return -1, err
		}
		if givesPagesBack(fd) {
			return fd, nil
		}
		closeDescriptor(fd)
	}
	return -1, ErrNoDisk
}

// givesPagesBack reports whether the kernel can reclaim memory that holds pages of a file. It tries
// that with one page, since the kind of file system does not tell: an overlay may lie in memory.
func givesPagesBack(fd int) bool {
	page := make([]byte, os.Getpagesize())
	if _, err := syscall.Pwrite(fd, page, 0); err != nil {
		return false
	}
	if err := syscall.Fdatasync(fd); err != nil {
		return false
	}
	const dontNeed = 4 // POSIX_FADV_DONTNEED
	if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, uintptr(fd), 0, 0, dontNeed, 0, 0); errno != 0 {
		return false
	}
	mapped, err := syscall.Mmap(fd, 0, len(page), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return false
	}
	resident := byte(1)
	_, _, errno := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(mapped))), uintptr(len(mapped)), uintptr(unsafe.Pointer(&resident)))
	return errors.Join(syscall.Munmap(mapped), syscall.Ftruncate(fd, 0)) == nil && errno == 0 && resident&1 == 0
}

// copyToDisk is transfer for any number of ranges of any length. It writes data to the disk before
// more than diskPiece bytes of it are pending.
func (p *Process) copyToDisk(ranges []Range, offsets []int64, place window, out [][]byte) error {
	var (
		pieces  []Range
		at      []int64
		of      []int // the range that a piece belongs to
		pending uint64
		cut     = -1 // the last range that ends where memory could not be read
	)
	flush := func() error {
		got := make([][]byte, len(pieces))
		if err := p.transfer(pieces, at, place, got); err != nil {
			return err
		}
		if err := syscall.Fdatasync(p.image.file); err != nil {
			return failed("copy", &remedy.Error{Call: "fdatasync", For: fmt.Sprintf("%d bytes of the image file", pending), Err: err})
		}
		for k, i := range of {
			if have := int64(len(out[i])); offsets[i]+have == at[k] {
				// the range could be read up to this piece
				end := at[k] + int64(len(got[k]))
				out[i] = place.data[offsets[i]:end:end]
			}
			if uint64(len(got[k])) < pieces[k].Len {
				cut = i
			}
		}
		pieces, at, of, pending = pieces[:0], at[:0], of[:0], 0
		return nil
	}
	for i, r := range ranges {
		for done := uint64(0); done < r.Len && cut != i; {
			n := min(r.Len-done, diskPiece-pending)
			pieces = append(pieces, Range{Addr: r.Addr + done, Len: n})
			at, of = append(at, offsets[i]+int64(done)), append(of, i)
			done, pending = done+n, pending+n
			if pending == diskPiece || len(pieces) == batch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}
