//go:build (windows || darwin) && (amd64 || arm64)

package inplace

import (
	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// ahead is how many bytes of the mirror are provided, too, behind the last page that is needed: the
// heap may grow before it is copied.
const ahead = 16 << 20

// prepare provides memory for the pages of the mirror that a walk finds to be needed, and for those
// around them. On these systems the scheduler knows of every system call, so that a pinned caller
// cannot make one. prepare also writes to the pages that the copy will fill: if they are made one
// by one during the copy, that takes longer than the copy itself.
func (i *Image) prepare(c *control, _ bool) (done bool, err error) {
	if !i.pinned(c, mark) {
		return false, nil
	}
	bits := offheap.Bytes(c.bits, c.pages()/8+1)
	provided := offheap.Bytes(c.provided, (c.hi-c.lo)/provision)
	var last, total uintptr
	for from, to := c.run(0); from < to; from, to = c.run(to) {
		for p := from * rtlayout.PageSize / provision; p <= (to*rtlayout.PageSize-1)/provision; p++ {
			provided[p], last = 1, p
		}
	}
	for p := last; p < min(last+ahead/provision, uintptr(len(provided))); p++ {
		provided[p] = 1
	}
	for _, p := range provided {
		total += uintptr(p) * provision
	}
	if err := (headroom.System{}).Check(headroom.Need{Resident: int64(total)}); err != nil {
		return false, &freeze.Error{Op: operation, Err: err}
	}
	for p := range provided {
		if provided[p] != 0 {
			if err := offheap.Provide(offheap.Bytes(c.mirror+uintptr(p)*provision, provision)); err != nil {
				return false, refusedError(offheap.Refused("memory for a copy of the process", err))
			}
		}
	}
	c.touch()
	clear(bits)
	return true, nil
}

// populate checks that the pages that a walk has found to be needed are provided. If the heap has
// grown beyond the provided pages, the status is noRoom.
//
//go:norace
//go:nocheckptr
func (c *control) populate() {
	for from, to := c.run(0); from < to; from, to = c.run(to) {
		for p := from * rtlayout.PageSize / provision; p <= (to*rtlayout.PageSize-1)/provision; p++ {
			if offheap.Byte(c.provided+p) == 0 {
				c.status = noRoom
				return
			}
		}
	}
}
