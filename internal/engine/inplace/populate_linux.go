//go:build amd64 || arm64

package inplace

import (
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/rtlayout"
)

// prepare has nothing to do: populate does it.
func (i *Image) prepare(*control) (done bool, err error) { return true, nil }

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
