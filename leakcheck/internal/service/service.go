// Package service looks into another process, which a test drives: for assertions about a service.
package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/foreign"
)

// A Process is another process. One goroutine at a time uses it.
type Process struct {
	pid  int
	name string // with that of its file; "" until it is known
	opts []foreign.ProcessOption

	running  *foreign.Running // nil until it is opened
	ledger   *ledger.Another
	restless int // goroutines that run without an end

	stacks  *refscan.Stacks // of the last snapshot
	malloc  *native.Heap
	noHeap  error        // why malloc is not known
	closing map[int]bool // descriptors of files that nothing refers to
	left    [2]leftOut   // in the first snapshot and in the last
}

// New returns a process. executable names the file with its debug information, "" for the one that
// it runs.
func New(pid int, executable string) *Process {
	p := &Process{pid: pid}
	if executable != "" {
		p.opts = append(p.opts, foreign.WithExecutable(executable))
	}
	return p
}

// String returns the name of the process in messages: "process 4711 (server)".
func (p *Process) String() string {
	if p.name == "" {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid))
		if err != nil {
			return fmt.Sprintf("process %d", p.pid)
		}
		p.name = fmt.Sprintf("process %d (%s)", p.pid, filepath.Base(exe))
	}
	return p.name
}

// Open opens the process once. Errors are of type *refscan.UnavailableError.
func (p *Process) Open(ctx context.Context) error {
	if p.running != nil {
		return nil
	}
	running, err := foreign.OpenRunning(ctx, p.pid, p.opts...)
	if err != nil {
		return explained(p.pid, err)
	}
	p.running, p.ledger = running, ledger.OpenAnother(p.pid)
	return nil
}

// Close gives back what Open took. The process does not notice it.
func (p *Process) Close() {
	if p.running == nil {
		return
	}
	_ = p.running.Close()
	p.ledger.Close()
	p.running, p.ledger = nil, nil
}

// explained adds what tests need to know to the remedy of an error.
func explained(pid int, err error) error {
	if u := (*refscan.UnavailableError)(nil); errors.As(err, &u) && foreign.IsInput(err) {
		return &refscan.UnavailableError{Cause: fmt.Sprintf("there is no process %d to look into", pid), Remedy: "start it before the assertion, and keep it running until the assertion returns", Err: err}
	}
	return err
}

// Modules are the modules that the program was built of, nil if they are not known or the process
// is not open.
func (p *Process) Modules() *symbol.Modules {
	if p.running == nil {
		return nil
	}
	return p.running.Modules()
}

// capture takes a snapshot, and reads all that it has besides the Go heap.
func (p *Process) capture(ctx context.Context) (observe.Frozen, error) {
	if err := p.Open(ctx); err != nil {
		return nil, err
	}
	if _, err := p.running.Collections(); errors.Is(err, foreign.ErrEnded) {
		return nil, p.ended()
	}
	s, err := foreign.OpenProcess(ctx, p.pid, p.opts...)
	if err != nil {
		return nil, explained(p.pid, err)
	}
	if p.stacks, err = s.Stacks(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	p.malloc, p.noHeap = s.Malloc()
	return &frozen{Process: observe.Process{Snapshot: s.Snapshot}, of: p}, nil
}

func (p *Process) ended() error {
	return &refscan.UnavailableError{Cause: fmt.Sprintf("process %d has ended, or runs another program now", p.pid), Remedy: "see why it ended; it has to run until the assertion returns"}
}

// Observe takes one snapshot of the process and scans it, as observe.Engine.Observe does for this
// process.
func (p *Process) Observe(ctx context.Context, n observe.Needs) (*observe.Observation, error) {
	n.Native = false // who holds blocks of C is not looked for
	e := observe.Engine{Elsewhere: true, Capture: func(...refscan.CaptureOption) (observe.Frozen, error) { return p.capture(ctx) }}
	return e.Observe(ctx, n)
}

// Resources lists what the operating system holds for the process, without the descriptors of files
// that nothing refers to and that the next garbage collection closes, and without the memory of a
// sanitizer. It comes after a snapshot.
func (p *Process) Resources(string) (*ledger.Ledger, error) {
	if err := p.Open(context.Background()); err != nil {
		return nil, err
	}
	stacks := int64(0)
	if p.stacks != nil {
		for _, g := range p.stacks.Goroutines {
			stacks += g.Size()
		}
	}
	l, err := p.ledger.Take(stacks, p.running.Mapped)
	if err == nil {
		l.Drop(func(it *ledger.Item) bool {
			return it.Kind == ledger.Descriptor && p.closing[it.Number] || p.running.Sanitized() && it.Names[0] == ledger.Anonymous
		})
	}
	return l, err
}

// Malloc returns the blocks that C code had from malloc at the last snapshot.
func (p *Process) Malloc() (*native.Heap, error) { return p.malloc, p.noHeap }

// Goroutines counts the goroutines of the last snapshot by origin, but those of the runtime.
func (p *Process) Goroutines(isProgram func(pkg string) bool) map[goroutine.Origin]goroutine.Pile {
	if p.stacks == nil {
		return nil
	}
	calls := make(map[*refscan.StackTrace][]goroutine.Call)
	return goroutine.Count(func(visit func(*realtime.Goroutine)) {
		for _, g := range p.stacks.Goroutines {
			if one := traceOf(g, calls); one != nil {
				visit(one)
			}
		}
	}, isProgram)
}

// Timers calls visit for each timer that is set, read while the process runs; for none if it
// cannot be read.
func (p *Process) Timers(ctx context.Context, visit func(proof.Timer)) {
	if p.Open(ctx) != nil {
		return
	}
	_ = p.running.EachTimer(func(address uint64, in time.Duration, repeats bool) {
		visit(proof.Timer{Address: address, In: in, Repeats: repeats})
	})
}
