//go:build amd64 || arm64

package inplace

import (
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/peek"
	"github.com/leakgate/leakgate/internal/engine/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/sysmem"
)

// prepare has the kernel put pages where a walk finds that a small copy needs them, so that there is
// less to do for who is pinned. Meanwhile the program may go on: a large heap could grow by more than
// was prepared.
func (i *Image) prepare(c *control, small bool) (done bool, err error) {
	if !small {
		return true, nil // populate does it
	}
	if !i.pinned(c, mark) {
		return false, nil
	}
	if c.populate(); c.status == refused {
		return false, refusedError(sysmem.Refused("memory for a copy of the process", syscall.Errno(c.errno)))
	}
	c.touch()
	clear(peek.Bytes(c.bits, c.pages()/8+1))
	return true, nil
}

// populate has the kernel put pages where a walk has found that they are needed, many at a time:
// one by one, as they are written to, takes several times as long. A kernel before Linux 5.14 does
// not know the request.
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
	if errno != 0 && errno != syscall.EINVAL && errno != syscall.EINTR {
		c.status, c.errno = refused, uintptr(errno)
	}
	return errno == 0
}
