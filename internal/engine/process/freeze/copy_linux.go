//go:build linux && (amd64 || arm64)

package freeze

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
)

var errReleased = errors.New("the frozen process has been released")

// From largeCopy bytes on, a copy is made only if there is memory for it and copySlack bytes to
// spare: the child is the first process that the kernel kills, but not the only one.
const (
	largeCopy = 1 << 20
	copySlack = 4 << 20
)

// largestCopy bounds one Copy; amd64 and arm64 programs have address spaces of this size.
const largestCopy = 1 << 47

// Copy returns the contents of ranges, in order. A slice that is shorter than its range ends where
// memory could not be read. The slices must not be written to and stay valid until Close; they lie
// outside the Go heap in memory of their own, at about the size of the ranges. Alignment up to 16
// is kept.
//
// The kernel copies several GB per second; a range costs about a microsecond, a call about 20.
func (p *Process) Copy(ranges []Range) ([][]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.control == nil {
		return nil, &Error{Op: "copy", Err: errReleased}
	}
	offsets, size, err := layOut(ranges)
	if err != nil {
		return nil, &Error{Op: "copy", Err: err}
	}
	if size >= largeCopy {
		if err := (headroom.System{}).Check(headroom.Need{Resident: p.residentPart(size) + copySlack, Address: size}); err != nil {
			return nil, &Error{Op: "copy", Err: err}
		}
	}
	place, err := p.image.reserve(size)
	if err != nil {
		return nil, failed("copy", err)
	}
	out := make([][]byte, len(ranges))
	if p.image.disk {
		return out, p.copyToDisk(ranges, offsets, place, out)
	}
	for first := 0; first < len(ranges); first += batch {
		last := min(first+batch, len(ranges))
		if err := p.transfer(ranges[first:last], offsets[first:last], place, out[first:last]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// residentPart is how many bytes of a copy have to be in memory.
func (p *Process) residentPart(size int64) int64 {
	if p.image.disk {
		return size / DiskShare
	}
	return size
}

// layOut gives each range its offset in the copy. Ranges of a page or more keep their alignment to
// pages, so that the kernel fills whole pages.
func layOut(ranges []Range) (offsets []int64, size int64, err error) {
	offsets = make([]int64, len(ranges))
	for i, r := range ranges {
		align := int64(16)
		if r.Len >= pageSize {
			align = pageSize
		}
		// The smallest offset from size on that agrees with the address modulo align.
		size += (int64(r.Addr) - size) & (align - 1)
		offsets[i] = size
		if r.Len > largestCopy || size > largestCopy {
			return nil, 0, fmt.Errorf("%d bytes at %#x are more than an address space", r.Len, r.Addr)
		}
		size += int64(r.Len)
	}
	return offsets, size, nil
}

// transfer has the child write at most a batch of ranges into place, at the given offsets in it.
func (p *Process) transfer(ranges []Range, offsets []int64, place window, out [][]byte) error {
	for i, r := range ranges {
		p.control.requests[i] = request{
			addr:   uintptr(r.Addr),
			size:   uintptr(r.Len),
			offset: uintptr(place.offset + offsets[i]),
		}
	}
	if err := p.child.request(len(ranges)); err != nil {
		return failed("copy", err)
	}
	for i := range ranges {
		r := &p.control.requests[i]
		if errno := syscall.Errno(r.errno); errno != 0 && errno != syscall.EFAULT {
			err := &remedy.Error{Call: "pwrite64", For: "in the frozen process", Err: errno}
			return failed("copy", fmt.Errorf("writing %d bytes at %#x: %w", r.size, r.addr, err))
		}
		end := offsets[i] + int64(r.done)
		out[i] = place.data[offsets[i]:end:end]
	}
	return nil
}
