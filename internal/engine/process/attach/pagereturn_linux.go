//go:build amd64 || arm64

package attach

import (
	"os"
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

// A pageReturn has a copy give memory back that has been read. Its methods run on the tracer's
// thread, or while that is idle.
type pageReturn struct {
	copied *stopped // the copy alone
	regs   general
	gone   []image.Piece // memory that the copy no longer has
}

// newPageReturn returns nil if the copy cannot do system calls.
func newPageReturn(copied int, code instructions) *pageReturn {
	regs, err := registersOf(copied)
	if err != nil {
		return nil
	}
	return &pageReturn{&stopped{pid: copied, threads: map[int]*thread{copied: {tid: copied}}, code: code}, regs, nil}
}

// give has the copy drop the whole pages of memory that data holds from now on. If the kernel
// refuses, as for locked memory, the copy keeps them.
func (g *pageReturn) give(data []byte, addr uint64) {
	page := uint64(os.Getpagesize())
	from, to := (addr+page-1)&^(page-1), (addr+uint64(len(data)))&^(page-1)
	if from >= to || len(g.copied.threads) == 0 {
		return
	}
	regs := g.regs
	regs.callOf(g.copied.code, 0, syscall.SYS_MADVISE, []uint64{from, to - from, syscall.MADV_DONTNEED})
	result, _, err := g.copied.call(g.copied.threads[g.copied.pid], &regs)
	if err == nil && result == -int64(syscall.EINVAL) {
		return
	}
	g.gone = append(g.gone, image.Piece{Addr: from, Data: data[from-addr : to-addr]})
}

// restore puts what the copy no longer has into data that was read from it.
func (g *pageReturn) restore(data []byte, addr uint64) {
	for _, p := range g.gone {
		if end := p.Addr + uint64(len(p.Data)); addr < end && p.Addr < addr+uint64(len(data)) {
			low, high := max(addr, p.Addr), min(addr+uint64(len(data)), end)
			copy(data[low-addr:high-addr], p.Data[low-p.Addr:high-p.Addr])
		}
	}
}
