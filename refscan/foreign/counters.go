package foreign

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/leakgate/leakgate/internal/engine/runtime/gcwatch"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/refscan"
)

// Counters are the counters of a process's garbage collector. They are read from the runtime's
// memory while the process runs: the process is neither stopped nor notified.
type Counters struct {
	memory  *os.File
	at      *gcwatch.Counters
	records *gcwatch.Records // nil: they cannot be found
	bias    uint64
}

// A Cycle is a garbage collection of a process.
type Cycle = gcwatch.Marking

// ErrEnded says that a process has ended, or runs another program now.
var ErrEnded = errors.New("the process has ended")

// OpenCounters finds the counters of a process. Of the options of OpenProcess only WithExecutable
// makes a difference. OpenCounters needs the same right, and reads the program's debug information
// once. Errors are of type *refscan.UnavailableError.
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

// counters takes over the memory file if there is no error.
func (p *program) counters(memory *os.File) (*Counters, error) {
	at, err := gcwatch.FindCounters(rtlayout.In(p.index, p.file.Bias()))
	if err != nil {
		return nil, &refscan.UnavailableError{Cause: "the garbage collector's counters in the process cannot be read", Remedy: remedyReport, Err: err}
	}
	records, err := gcwatch.FindRecords(rtlayout.In(p.index, p.file.Bias()))
	if err != nil {
		records = nil
	}
	return &Counters{memory, at, records, p.file.Bias()}, nil
}

// Bias is what an address in the process has more than in the program's file.
func (c *Counters) Bias() uint64 { return c.bias }

// Last is the collection that ended last. It takes eight reads of a word, some microseconds of this
// process, and no time of the other. The error is ErrEnded, or that of the read.
func (c *Counters) Last() (Cycle, error) { return c.at.Last(c) }

// A Recorded is what one stack of a process has allocated, by the samples of its memory profiler.
type Recorded = gcwatch.Recorded

// Recorded returns the memory profiler's records of the process, nil if they cannot be read. It
// takes some microseconds of this process for each stack, and no time of the other.
func (c *Counters) Recorded() []Recorded {
	if c.records == nil {
		return nil
	}
	all, err := c.records.Read(c)
	if err != nil {
		return nil
	}
	return all
}

// RecordedAround returns what was alive, by stack, at the end of the mark phase of a collection
// that has just ended, however much of that has been freed since, and before: at the end of the
// mark phase before if the jump is sudden and that is known, otherwise at the moment of earlier
// records. It returns nil if two more mark phases have ended, and waits up to 100 ms for garbage to
// be freed.
func (c *Counters) RecordedAround(of Cycle, sudden bool, earlier []Recorded) []Recorded {
	if c.records == nil {
		return nil
	}
	return c.records.Around(c, c.at, of.Number, sudden, earlier)
}

// A Moment is what the memory profiler of a process has recorded until then, and a Sampled what one
// stack has allocated of that.
type (
	Moment  = gcwatch.Moment
	Sampled = gcwatch.Sampled
)

// Moment reads how much the memory profiler has recorded since the process began. As Recorded, it
// takes no time of the process.
func (c *Counters) Moment() (*Moment, error) {
	if c.records == nil {
		return nil, notRecorded(errors.New("its records cannot be found"))
	}
	now, err := c.records.Moment(c)
	return now, notRecorded(err)
}

// Since returns what the memory profiler has recorded since a moment.
func (c *Counters) Since(earlier *Moment) ([]Sampled, error) {
	all, err := c.records.Since(c, earlier)
	return all, notRecorded(err)
}

// notRecorded is the error of records that cannot be read.
func notRecorded(err error) error {
	if err == nil || errors.Is(err, ErrEnded) {
		return err
	}
	return &refscan.UnavailableError{
		Cause:  "what the process allocates is not recorded",
		Remedy: "link runtime/pprof, as net/http/pprof does, and leave runtime.MemProfileRate as it is", Err: err,
	}
}

// cycles is the number of collections that have ended, modulo 2^31, as goruntime.Model.Cycles
// counts them.
func (c *Counters) cycles() (uint32, error) { return c.at.Swept(c) }

// Word implements gcwatch.Memory.
func (c *Counters) Word(addr uint64, size int) (uint64, error) {
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

// Close releases what the counters hold. The process does not notice it.
func (c *Counters) Close() error { return c.memory.Close() }
