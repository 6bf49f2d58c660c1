package foreign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/process/attach"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/refscan"
)

// An Audit compares a scan with the marks of the next collection of the process.
type Audit struct {
	// Objects that the collection before the scan and the one after it found alive, and that no
	// root leads to: the scan missed them. Two other kinds of object may look the same: one that a
	// weak pointer brought back in between, and garbage that the collector kept alive because of a
	// word on an interrupted goroutine's stack.
	MissedObjects, MissedBytes int64
	Waited                     time.Duration // for the collection
}

const (
	// maxAudits bounds the attempts for a process that collects garbage more often than it can be
	// stopped.
	maxAudits = 12
	// A collection comes at least every two minutes (go1.26 runtime/proc.go, forcegcperiod).
	longestWait = 150 * time.Second
	// The copy of the process is kept for firstWait to wait for a collection, and four times as
	// long in each further attempt: that suits programs that collect in less time than the scan
	// takes.
	firstWait   = 20 * time.Millisecond
	auditPoll   = 50 * time.Microsecond
	patientPoll = time.Millisecond
)

var errCollected = errors.New("the process has collected garbage more than once")

// ScanAudited takes a snapshot of a process as OpenProcess does, scans it, waits for the next
// collection of the process, up to two minutes and a half, and compares the scan with it. For that
// the process is stopped a second time. A process that collects garbage too often is scanned again,
// up to 12 times. The returned Process is closed. ctx ends the wait, too. Errors are of type
// *refscan.UnavailableError, also that of an audit that is not possible.
func ScanAudited(ctx context.Context, pid int, scan []refscan.ScanOption, opts ...ProcessOption) (p *Process, r *refscan.Report, a *Audit, err error) {
	o := options(pid, opts)
	prog, memory, err := openLocated(ctx, pid, o)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { _ = prog.file.Close() }()
	defer func() { _ = memory.memory.Close() }()
	counters, err := prog.counters(memory.memory)
	if err != nil {
		return nil, nil, nil, err
	}
	wait := firstWait
	for try := 1; ; try++ {
		p, err := OpenProcess(ctx, pid, append(slices.Clip(opts), resting)...)
		if goruntime.IsTransient(err) && try < maxAudits && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, nil, nil, err
		}
		run := &auditing{Process: p, program: prog, counters: counters, pid: pid, noFork: o.noFork}
		r, a, err := run.audit(ctx, wait, scan)
		if err = errors.Join(err, p.Close()); err == nil {
			return p, r, a, nil
		}
		if !errors.Is(err, errCollected) {
			return nil, nil, nil, err
		}
		if try == maxAudits {
			return nil, nil, nil, &refscan.UnavailableError{
				Cause:  fmt.Sprintf("process %d could not be stopped between two collections right after another, in %d attempts", pid, try),
				Remedy: "scan it without -audit, or while it does less", Err: err,
			}
		}
		wait *= 4
	}
}

// resting makes OpenProcess stop the process while its collector is idle, so that the next
// collection to end begins after the stop.
func resting(o *processOptions) { o.resting = true }

// auditing is one attempt at an audit.
type auditing struct {
	*Process
	program  *program // the process closes its own
	counters *Counters
	pid      int
	noFork   bool
}

// audit scans the process, and closes it before or after the next collection has ended.
func (x *auditing) audit(ctx context.Context, wait time.Duration, scan []refscan.ScanOption) (*refscan.Report, *Audit, error) {
	start := time.Now()
	internal := (*snapshot.Snapshot)(x.Snapshot)
	cycles := internal.Cycles()
	var marks *goruntime.Model
	var err error
	if x.NotForked == "" {
		if marks, err = x.marksAfter(ctx, cycles, wait, auditPoll); err != nil && !errors.Is(err, errNone) {
			return nil, nil, x.waitError(err)
		}
	}
	r, err := x.Scan(scan...)
	if err != nil {
		return nil, nil, err
	}
	unreached, err := internal.Unreached()
	if err := errors.Join(err, x.Close()); err != nil {
		return nil, nil, err
	}
	if marks == nil {
		if marks, err = x.marksAfter(ctx, cycles, longestWait, patientPoll); err != nil {
			return nil, nil, x.waitError(err)
		}
	}
	a := &Audit{Waited: time.Since(start)}
	a.MissedObjects, a.MissedBytes = unreached.AliveIn(marks)
	return r, a, nil
}

// errNone says that no collection has ended in the time that was waited.
var errNone = errors.New("no collection has ended")

func (x *auditing) waitError(err error) error {
	switch {
	case errors.Is(err, errCollected) || errors.As(err, new(*refscan.UnavailableError)):
		return err
	case errors.Is(err, ErrEnded):
		return &refscan.UnavailableError{
			Cause:  fmt.Sprintf("process %d has ended before it collected garbage once more", x.pid),
			Remedy: "scan it without -audit", Err: err,
		}
	case errors.Is(err, errNone):
		return &refscan.UnavailableError{
			Cause:  fmt.Sprintf("process %d has not collected garbage for %v after the scan, as Go programs do every two minutes", x.pid, longestWait),
			Remedy: "see whether it is stopped or blocked, or scan it without -audit", Err: err,
		}
	}
	return &refscan.UnavailableError{Cause: "the scan could not be audited", Err: err}
}

// marksAfter waits until the collection with number cycles+1 has ended, and reads its marks.
func (x *auditing) marksAfter(ctx context.Context, cycles uint32, wait, poll time.Duration) (*goruntime.Model, error) {
	for deadline := time.Now().Add(wait); ; time.Sleep(poll) {
		now, err := x.counters.cycles()
		switch {
		case err != nil:
			return nil, err
		case now == cycles+1:
			return x.marks(cycles + 1)
		case now != cycles:
			return nil, errCollected
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case time.Now().After(deadline):
			return nil, errNone
		}
	}
}

// marks stops the process again and reads its mark bits. It fails if they are not those of the
// collection with number cycles.
func (x *auditing) marks(cycles uint32) (_ *goruntime.Model, err error) {
	p := x.program
	frozen, err := attach.Take(x.pid, attach.Options{NoFork: x.noFork, Prompt: true, SignalStack: x.Process.signalStack})
	if err != nil {
		return nil, attachError(err)
	}
	defer func() { err = errors.Join(err, frozen.Close()) }()
	m, err := goruntime.LoadStoppedMarks(image.NewSpace(p.withFile(frozen)), p.index, p.file.Bias(), p.file.GOARCH)
	switch {
	case err != nil:
		return nil, &refscan.UnavailableError{Cause: "the runtime's structures in the process cannot be read", Remedy: remedyReport, Err: err}
	case m.Cycles != cycles:
		return nil, errCollected
	}
	return m, nil
}
