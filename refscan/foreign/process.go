package foreign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/process/attach"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/refscan"
)

// A ProcessOption changes how OpenProcess works.
type ProcessOption func(*processOptions)

type processOptions struct {
	exe    string
	noFork bool
	// the process is stopped only while its collector is idle
	resting bool
}

// WithExecutable names the file with the program's debug information: the unstripped file of the
// same build. Otherwise it is the file that the process runs, /proc/PID/exe.
func WithExecutable(path string) ProcessOption {
	return func(o *processOptions) { o.exe = path }
}

// WithoutFork keeps the process stopped until the snapshot is closed, instead of only while it
// forks.
func WithoutFork() ProcessOption {
	return func(o *processOptions) { o.noFork = true }
}

// A Process is a snapshot of a process by its pid.
type Process struct {
	*refscan.Snapshot
	Attempts  int    // how often the process was stopped until its memory could be read
	NotForked string // why it stays stopped until the snapshot is closed; "" if it forked
	frozen    *attach.Frozen

	signalStack func(sp uint64) (lo, hi uint64) // see attach.Options
}

// Frames names the functions of a stack of return addresses of the process, the innermost first,
// without those of the allocator. The snapshot must not be closed.
func (p *Process) Frames(stack []uint64) (frames []refscan.SourceFrame) {
	var failed error // the stack is shown as far as it can be read
	defer snapshot.Guard(&failed)()
	for _, c := range (*snapshot.Snapshot)(p.Snapshot).Model().StackCalls(stack) {
		frames = append(frames, refscan.SourceFrame{Func: c.Name, File: c.File, Line: c.Line})
	}
	return frames
}

// Paused is how long the process was stopped; if it did not fork, that is known after Close.
func (p *Process) Paused() time.Duration { return p.frozen.Pause }

// Malloc returns the blocks that C code in the process had from malloc. It takes as long as it
// takes to copy them, at some GB/s. Errors are nativeheap.ErrNone, in a program without a C
// library, and those of nativeheap.OfAnother. The snapshot must not be closed.
func (p *Process) Malloc() (_ *nativeheap.Heap, err error) {
	defer snapshot.Guard(&err)()
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.frozen.Shown()))
	if err != nil {
		return nil, err
	}
	return nativeheap.OfAnother(p.frozen.Shown(), program, (*snapshot.Snapshot)(p.Snapshot).Model().Mem)
}

// Faults counts the page faults of the process from its fork until Close, at which they are known:
// for each page that it wrote to before the page was read, the kernel made a copy, in one or two
// microseconds. It is 0 if the process did not fork.
func (p *Process) Faults() int64 { return p.frozen.Faults }

// maxReads bounds how often a process is read until no goroutine is lost.
const maxReads = 4

// OpenProcess makes a snapshot of a running process by means of ptrace: on linux/amd64 and
// linux/arm64, for a process of the same user with the right to trace it. The process is stopped
// for the time that its fork takes (Pause of the snapshot, some 15 ms for 300 MB), and notices
// nothing: no signal, no interrupted system call, no child. The copy is a second process, which
// shares memory until one of the two writes. It ends when the snapshot is closed, or with this
// process. Where the process may not fork, for its seccomp filter or a limit, it stays stopped
// until then.
//
// The context bounds how long debug information is looked for, and how often reading is tried
// again. Errors are of type *refscan.UnavailableError.
func OpenProcess(ctx context.Context, pid int, opts ...ProcessOption) (*Process, error) {
	o := options(pid, opts)
	auxv, p, err := openRunning(ctx, pid, o)
	if err != nil {
		return nil, err
	}
	s, err := p.attach(ctx, pid, auxv, o)
	if err != nil {
		return nil, errors.Join(err, p.file.Close())
	}
	return s, nil
}

func options(pid int, opts []ProcessOption) *processOptions {
	o := &processOptions{exe: fmt.Sprintf("/proc/%d/exe", pid)}
	for _, opt := range opts {
		opt(o)
	}
	return o
}

// openRunning opens the program of a process.
func openRunning(ctx context.Context, pid int, o *processOptions) (auxv []byte, p *program, err error) {
	auxv, err = os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return nil, nil, attachError(attach.Refused(pid, err))
	}
	p, err = openProgram(ctx, o.exe)
	return auxv, p, err
}

// relocate opens the memory of a process, and finds the addresses that the program is loaded at.
func (p *program) relocate(pid int, auxv []byte, o *processOptions) (*memoryOf, error) {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil, attachError(attach.Refused(pid, err))
	}
	r := &memoryOf{memory}
	if err := p.file.Relocate(auxv, r.read); err != nil {
		_ = memory.Close()
		return nil, &refscan.UnavailableError{
			Cause: fmt.Sprintf("process %d and %s do not belong together", pid, o.exe), Remedy: "give the unstripped file of the same build", Err: err,
		}
	}
	return r, nil
}

// openLocated opens the program and the memory of a process.
func openLocated(ctx context.Context, pid int, o *processOptions) (*program, *memoryOf, error) {
	auxv, p, err := openRunning(ctx, pid, o)
	if err != nil {
		return nil, nil, err
	}
	memory, err := p.relocate(pid, auxv, o)
	if err != nil {
		return nil, nil, errors.Join(err, p.file.Close())
	}
	return p, memory, nil
}

func (p *program) attach(ctx context.Context, pid int, auxv []byte, o *processOptions) (*Process, error) {
	running, err := p.relocate(pid, auxv, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = running.memory.Close() }()
	gate, err := goruntime.NewGate(image.NewSpace(p.withFile(running)), p.index, p.file.Bias(), p.file.GOARCH)
	if err != nil {
		return nil, &refscan.UnavailableError{Cause: "the runtime's structures in the process cannot be read", Remedy: remedyReport, Err: err}
	}
	options := attach.Options{NoFork: o.noFork, Prompt: o.resting, SignalStack: signalStacks(pid, gate), Check: func(threads []goruntime.Thread) error {
		if err := gate.Check(image.NewSpace(running), threads); err != nil || !o.resting {
			return err
		}
		return gate.Resting()
	}}
	attempts := 0
	for try := 1; ; try++ {
		frozen, err := attach.Take(pid, options)
		if err != nil {
			return nil, attachError(err)
		}
		attempts += frozen.Attempts
		s, lost, err := p.read(frozen)
		if (err != nil || lost > 0) && try < maxReads && ctx.Err() == nil {
			if s != nil {
				if err := frozen.Close(); err != nil {
					return nil, attachError(err)
				}
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		return &Process{s, attempts, frozen.NotForked, frozen, options.SignalStack}, nil
	}
}

// signalStacks returns a function that finds the signal stacks of the threads of a process; see
// attach.Options.
func signalStacks(pid int, gate *goruntime.Gate) func(sp uint64) (lo, hi uint64) {
	return func(sp uint64) (lo, hi uint64) {
		memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			return 0, 0
		}
		defer func() { _ = memory.Close() }()
		return gate.SignalStack(image.NewSpace(&memoryOf{memory}), sp)
	}
}

// read makes a snapshot of a frozen process. The snapshot's Close lets the process continue. If
// read fails, it closes frozen.
func (p *program) read(frozen *attach.Frozen) (s *refscan.Snapshot, lost int, err error) {
	release := func() error { return errors.Join(frozen.Close(), p.file.Close()) }
	s, lost, err = p.snapshot(p.withFile(frozen), frozen.Threads, frozen.Pause, release)
	if err != nil {
		return nil, 0, errors.Join(err, frozen.Close())
	}
	return s, lost, nil
}

// attachError is the error of a process that cannot be stopped.
func attachError(err error) error {
	if known := (*remedy.Unavailable)(nil); errors.As(err, &known) {
		return (*refscan.UnavailableError)(known)
	}
	return &refscan.UnavailableError{Cause: "the process cannot be looked into", Err: err}
}

// memoryOf reads the memory of a process that is not frozen.
type memoryOf struct{ memory *os.File }

func (r *memoryOf) read(addr, n uint64) []byte {
	b := make([]byte, n)
	got, _ := r.memory.ReadAt(b, int64(addr))
	return b[:got]
}

// Copy implements image.Source.
func (r *memoryOf) Copy(ranges []image.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	for i, part := range ranges {
		if part.Len < 1<<32 && part.Addr < 1<<63 {
			out[i] = r.read(part.Addr, part.Len)
		}
	}
	return out, nil
}

// withFile returns a source that reads constants from the program's file.
func (p *program) withFile(s image.Source) image.Source { return fileBackedSource{s, p} }

type fileBackedSource struct {
	image.Source
	program *program
}

// Lend implements image.Lender.
func (l fileBackedSource) Lend(r image.Range) []byte { return l.program.file.Lend(r) }
