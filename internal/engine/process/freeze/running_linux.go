//go:build linux && (amd64 || arm64)

package freeze

import (
	"errors"
	"math"
	"syscall"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
)

// A Running hands out the memory of this process while the process runs: a copy may or may not
// contain what the program writes meanwhile. An address that cannot be read is no fault. A Running
// is not safe for concurrent use.
type Running struct {
	memory int      // descriptor of /proc/self/mem, -1 once closed
	copies [][]byte // the mappings that copies lie in
	free   []byte   // the unused rest of the newest mapping
}

// OpenRunning returns this process. The caller must call Close. A process that may not be traced
// (prctl(2), PR_SET_DUMPABLE) may not open its own memory, either.
func OpenRunning() (*Running, error) {
	fd, err := syscall.Open("/proc/self/mem", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, failed("copying memory", &remedy.Error{Call: "open", For: "/proc/self/mem", Err: err})
	}
	return &Running{memory: fd}, nil
}

// Copy is Process.Copy for the running process. It copies some GB/s; a range costs about a
// microsecond.
func (p *Running) Copy(ranges []Range) ([][]byte, error) {
	offsets, size, err := layOut(ranges)
	if err != nil {
		return nil, &Error{Op: "copy", Err: err}
	}
	if size >= copySlack {
		need := headroom.Need{Resident: size + copySlack, Private: size, Address: size + 2*hugePage}
		if err := (headroom.System{}).Check(need); err != nil {
			return nil, &Error{Op: "copy", Err: err}
		}
	}
	place, err := p.reserve(size)
	if err != nil {
		return nil, failed("copy", err)
	}
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		if out[i], err = p.read(place[offsets[i]:][:r.Len:r.Len], r.Addr); err != nil {
			return nil, failed("copy", err)
		}
	}
	return out, nil
}

// read fills a buffer with memory, and returns the part that could be read.
func (p *Running) read(buf []byte, addr uint64) ([]byte, error) {
	if addr > math.MaxInt64 { // the kernel's addresses are no offsets in a file
		return nil, nil
	}
	for done := 0; done < len(buf); {
		n, err := syscall.Pread(p.memory, buf[done:], int64(addr)+int64(done))
		switch {
		case err == syscall.EINTR:
		case err == syscall.EIO, err == nil && n == 0:
			return buf[:done:done], nil
		case err != nil:
			return nil, &remedy.Error{Call: "pread64", For: "/proc/self/mem", Err: err}
		default:
			done += n
		}
	}
	return buf, nil
}

const (
	// The kernel provides 2 MiB at once in a fifth of the time that 512 pages take.
	hugePage     = 2 << 20
	madvHugePage = 14 // madvise(2), the same on all architectures
)

// reserve returns n zero bytes of memory outside of the Go heap. They take memory only when they
// are written.
func (p *Running) reserve(n int64) ([]byte, error) {
	n = alignUp(n, pageSize)
	if int64(len(p.free)) < n {
		// Linux aligns mappings to large pages from 6.7 on.
		size := alignUp(n, hugePage)
		all, err := syscall.Mmap(-1, 0, int(size+hugePage), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err != nil {
			return nil, &remedy.Error{Call: "mmap", Err: err}
		}
		p.copies = append(p.copies, all)
		if err := syscall.Madvise(all, madvDontFork); err != nil {
			return nil, &remedy.Error{Call: "madvise", For: "MADV_DONTFORK", Err: err}
		}
		start := -uintptr(unsafe.Pointer(&all[0])) & (hugePage - 1)
		p.free = all[start:][:size:size]
		_ = syscall.Madvise(p.free, madvHugePage) // a kernel without large pages provides small ones
	}
	b := p.free[:n:n]
	p.free = p.free[n:]
	return b, nil
}

// Close releases the memory of all copies.
func (p *Running) Close() error {
	var errs []error
	for _, c := range p.copies {
		errs = append(errs, syscall.Munmap(c))
	}
	if p.memory >= 0 {
		errs = append(errs, syscall.Close(p.memory))
	}
	*p = Running{memory: -1}
	if err := errors.Join(errs...); err != nil {
		return &Error{Op: "close", Err: err}
	}
	return nil
}
