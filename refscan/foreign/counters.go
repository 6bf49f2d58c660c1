package foreign

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/leakgate/leakgate/internal/engine/rtlayout"
	"github.com/leakgate/leakgate/refscan"
)

// Counters are what the garbage collector of a process has counted. They are read where the runtime
// keeps them, while the process runs: it is neither stopped nor told.
type Counters struct {
	memory *os.File
	// addresses in the process: of the number of collections that have ended
	// (go1.26 runtime/mstats.go, mstats.numgc), and of how many bytes the last one found alive
	// (runtime/mgcpacer.go, gcControllerState.heapMarked)
	number, marked uint64
	// of the generation of sweeping, which each collection moves on by 2 when the world stands still
	// for the end of marking (go1.26 runtime/mgc.go, gcSweep)
	sweep uint64
}

// A Cycle is a garbage collection.
type Cycle struct {
	Number uint32 // of those that have ended in the process, from 1; it begins anew after 2^32
	// Live is how many bytes its mark phase found alive, by size class, with what was allocated while
	// it marked, garbage or not. Before the first one it is what the runtime begins with.
	Live int64
}

// ErrEnded says that a process has ended, or runs another program now.
var ErrEnded = errors.New("the process has ended")

// OpenCounters finds the counters of a process, with the options of OpenProcess, of which only
// WithExecutable makes a difference here. It needs the same right, and reads the program's debug
// information once. Errors are of type *refscan.UnavailableError.
func OpenCounters(ctx context.Context, pid int, opts ...ProcessOption) (*Counters, error) {
	p, memory, err := openLocated(ctx, pid, options(pid, opts))
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.file.Close() }()
	c, err := p.counters(memory.memory)
	if err != nil {
		_ = memory.memory.Close()
	}
	return c, err
}

// counters takes the memory over if there is no error.
func (p *program) counters(memory *os.File) (*Counters, error) {
	l := rtlayout.In(p.index, p.file.Bias())
	c := &Counters{
		memory: memory,
		number: l.Variable("runtime.memstats").Addr + l.Offset("runtime.mstats", "numgc"),
		marked: l.Variable("runtime.gcController").Addr + l.Offset("runtime.gcControllerState", "heapMarked"),
		sweep:  l.Variable("runtime.mheap_").Addr + l.Offset("runtime.mheap", "sweepgen"),
	}
	if err := l.Err(); err != nil {
		return nil, &refscan.UnavailableError{Cause: "the garbage collector's counters in the process cannot be read", Remedy: remedyReport, Err: err}
	}
	return c, nil
}

// Last is the collection that ended last. It takes three reads of a word, some microseconds of this
// process, and nothing of the other. It allocates nothing. A collection that ends in this very
// moment, while the world stands still, may have its size beside the number of the one before. The
// error is ErrEnded, or that of the read.
func (c *Counters) Last() (Cycle, error) {
	for {
		before, err := c.word(c.number, 4)
		if err != nil {
			return Cycle{}, err
		}
		live, err := c.word(c.marked, 8)
		if err != nil {
			return Cycle{}, err
		}
		after, err := c.word(c.number, 4)
		if err != nil {
			return Cycle{}, err
		}
		if before == after {
			return Cycle{uint32(after), int64(live)}, nil
		}
	}
}

// cycles is how many collections have ended, modulo 2^31, as goruntime.Model.Cycles counts them.
func (c *Counters) cycles() (uint32, error) {
	generation, err := c.word(c.sweep, 4)
	return uint32(generation) / 2, err
}

func (c *Counters) word(addr uint64, size int) (uint64, error) {
	var b [8]byte
	n, err := c.memory.ReadAt(b[:size], int64(addr))
	switch {
	case n == size:
		return binary.LittleEndian.Uint64(b[:]), nil
	case n == 0: // proc_pid_mem(5): the memory is gone
		return 0, ErrEnded
	}
	return 0, fmt.Errorf("reading %s: %w", c.memory.Name(), err)
}

// Close gives back what the counters hold. The process sees nothing of it.
func (c *Counters) Close() error { return c.memory.Close() }
