//go:build amd64 || arm64

package inplace

import (
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// prepare has the kernel provide the pages that a walk finds a small copy to need, so that less is
// left to do while the caller is pinned. The program may go on meanwhile: a large heap could grow
// by more than was prepared.
func (i *Image) prepare(c *control, small bool) (done bool, err error) {
	if !small {
		return true, nil // populate provides the pages
	}
	if !i.pinned(c, mark) {
		return false, nil
	}
	if c.populate(); c.status == refused {
		return false, refusedError(offheap.Refused("memory for a copy of the process", syscall.Errno(c.errno)))
	}
	c.touch()
	c.prepared = true
	clear(offheap.Bytes(c.bits, c.pages()/8+1))
	return true, nil
}

// populate has the kernel provide the pages that a walk has found to be needed, many at a time: if
// each is provided when it is first written to, that takes several times as long. A kernel before
// Linux 5.14 does not know the request, and a sandbox may refuse it.
//
//go:norace
//go:nocheckptr
func (c *control) populate() {
	for from, to := c.run(0); from < to; from, to = c.run(to) {
		if !c.populateRange(c.mirror+from*rtlayout.PageSize, (to-from)*rtlayout.PageSize) {
			return
		}
	}
	if c.otherBytes <= c.othersSize {
		c.populateRange(c.others, (c.otherBytes+4095)&^4095)
	}
}

//go:norace
func (c *control) populateRange(addr, size uintptr) (ok bool) {
	const populateWrite = 23 // MADV_POPULATE_WRITE
	_, _, errno := syscall.RawSyscall(syscall.SYS_MADVISE, addr, size, populateWrite)
	switch errno {
	case 0, syscall.EINVAL, syscall.EINTR, syscall.EPERM, syscall.ENOSYS:
	default: // the pages cannot be provided
		c.status, c.errno = refused, uintptr(errno)
	}
	return errno == 0
}
