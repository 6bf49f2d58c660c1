//go:build linux && (amd64 || arm64)

package freeze

import (
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/remedy"
)

// A Running hands out the memory of this process as it runs: what the program writes meanwhile is
// in it or not. An address that cannot be read is no fault. It is not safe for concurrent use.
type Running struct{ image arena }

// OpenRunning returns this process. The caller must call Close.
func OpenRunning() (*Running, error) {
	fd, err := openMemory()
	if err != nil {
		return nil, failed("copying memory", err)
	}
	return &Running{arena{file: fd}}, nil
}

// Copy is Process.Copy, without a frozen process: the kernel writes this process's memory to the
// file that its copies lie in. It copies some GB/s; a range costs about a microsecond.
func (p *Running) Copy(ranges []Range) ([][]byte, error) {
	offsets, size, err := layOut(ranges)
	if err != nil {
		return nil, &Error{Op: "copy", Err: err}
	}
	place, err := p.image.reserve(size)
	if err != nil {
		return nil, failed("copy", err)
	}
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		done, err := p.write(r, place.offset+offsets[i])
		if err != nil {
			return nil, failed("copy", err)
		}
		end := offsets[i] + int64(done)
		out[i] = place.data[offsets[i]:end:end]
	}
	return out, nil
}

// write writes memory to the file, as far as it can be read.
func (p *Running) write(r Range, offset int64) (done uint64, err error) {
	for done < r.Len {
		n, _, errno := syscall.Syscall6(syscall.SYS_PWRITE64, uintptr(p.image.file), uintptr(r.Addr+done), uintptr(min(r.Len-done, maxWrite)), uintptr(offset)+uintptr(done), 0, 0)
		switch {
		case errno == syscall.EINTR:
		case errno == syscall.EFAULT, errno == 0 && n == 0:
			return done, nil
		case errno != 0:
			return done, &remedy.Error{Call: "pwrite64", Err: errno}
		default:
			done += uint64(n)
		}
	}
	return done, nil
}

// Close gives back the memory of all copies.
func (p *Running) Close() error {
	if err := p.image.close(); err != nil {
		return &Error{Op: "close", Err: err}
	}
	return nil
}
