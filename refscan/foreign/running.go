package foreign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan"
)

// A Running reads a process while it runs: the process is neither stopped nor notified. What it
// reads may never have been true at one moment. It is not safe for concurrent use.
type Running struct {
	pid     int
	program *program
	memory  *memoryOf
	records *goruntime.Running
	mapped  rtlayout.Mapped
	counts  *Counters
}

// OpenRunning makes ready to read a process. Of the options of OpenProcess only WithExecutable
// makes a difference. It needs the same right, reads the program's debug information once, and
// takes two descriptors of this process until Close. Errors are of type *refscan.UnavailableError.
func OpenRunning(ctx context.Context, pid int, opts ...ProcessOption) (_ *Running, err error) {
	p, memory, err := openLocated(ctx, pid, options(pid, opts))
	if err != nil {
		return nil, err
	}
	r := &Running{pid: pid, program: p, memory: memory}
	defer func() {
		if err != nil {
			_ = r.Close()
		}
	}()
	fields := rtlayout.In(p.index, p.file.Bias())
	fields.Fill(&r.mapped)
	err = fields.Err()
	if err == nil {
		r.records, err = goruntime.NewRunning(image.NewSpace(p.withFile(memory)), p.index, p.file.Bias(), p.file.GOARCH)
	}
	if err == nil {
		r.counts, err = p.counters(memory.memory)
	}
	if err != nil {
		return nil, &refscan.UnavailableError{Cause: "the runtime's structures in the process cannot be read", Remedy: remedyReport, Err: err}
	}
	return r, nil
}

// Close gives back what OpenRunning took.
func (r *Running) Close() error { return errors.Join(r.memory.memory.Close(), r.program.file.Close()) }

// Modules are the modules that the program was built of; nil if its file does not list them.
func (r *Running) Modules() *symbol.Modules { return r.program.modules }

// Sanitized reports whether the program was built with -race, -msan or -asan, which map memory of
// their own.
func (r *Running) Sanitized() bool {
	return slices.ContainsFunc(r.program.build, func(s debug.BuildSetting) bool {
		return s.Value == "true" && (s.Key == "-race" || s.Key == "-msan" || s.Key == "-asan")
	})
}

// Active returns how many goroutines run, or are about to. It takes some microseconds, and about 30
// ns for each goroutine.
func (r *Running) Active() (n int, err error) {
	n, err = r.records.Active(r.now())
	return n, r.readError(err)
}

// EachTimer calls visit for each timer that is set, also for those of goroutines that sleep, with
// its address, how long it is until it fires, and whether it repeats. It takes about a microsecond
// for each.
func (r *Running) EachTimer(visit func(address uint64, in time.Duration, repeats bool)) error {
	now := realtime.Clock()
	return r.readError(r.records.EachTimer(r.now(), func(timer uint64, when int64, repeats bool) {
		visit(timer, max(0, time.Duration(when)-now), repeats)
	}))
}

// now is the memory of the process, of which nothing has been read.
func (r *Running) now() *image.Space { return image.NewSpace(r.program.withFile(r.memory)) }

// Mapped returns how many bytes the Go runtime of the process has mapped, as runtime/metrics counts
// them.
func (r *Running) Mapped() (int64, error) {
	ready, err := r.counts.Word(r.mapped.Ready, 8)
	if err != nil {
		return 0, err
	}
	released, err := r.counts.Word(r.mapped.Released, 8)
	return int64(ready + released), err
}

// Collections returns how many garbage collections have ended, modulo 2^31.
func (r *Running) Collections() (uint32, error) { return r.counts.cycles() }

// readError is the error of a read, or ErrEnded if there is no process to read any more.
func (r *Running) readError(err error) error {
	if err == nil {
		return nil
	}
	if _, gone := os.Stat(fmt.Sprintf("/proc/%d/mem", r.pid)); gone != nil {
		return ErrEnded
	}
	return err
}
