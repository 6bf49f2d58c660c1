//go:build amd64 || arm64

package attach

import (
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
)

// largeRoom is the size in bytes from which on memory is allocated outside of the Go heap.
const largeRoom = 1 << 20

// roomSlack is what this process takes beside meanwhile, in bytes.
const roomSlack = 4 << 20

func (f *Frozen) makeRoom(n uint64) ([]byte, error) {
	if n < largeRoom {
		return make([]byte, n), nil
	}
	if err := (headroom.System{}).Check(headroom.Need{Resident: int64(n) + roomSlack, Private: int64(n), Address: int64(n)}); err != nil {
		return nil, err
	}
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err == nil {
		f.mapped = append(f.mapped, b)
	}
	return b, err
}
