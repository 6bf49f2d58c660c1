package observe

import (
	"context"
	"runtime"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/refscan"
)

// A Process is a snapshot of this process, with queries that only assertions make.
type Process struct{ *refscan.Snapshot }

// Capture takes a snapshot, as refscan.Capture does.
func Capture(opts ...refscan.CaptureOption) (Process, error) {
	s, err := refscan.Capture(opts...)
	return Process{s}, err
}

// InSnapshot takes a snapshot of this process and calls use with it. What cannot be done is a
// *refscan.UnavailableError.
func InSnapshot(use func(Process) error, opts ...refscan.CaptureOption) error {
	Observing.Lock()
	defer Observing.Unlock()
	s, err := Capture(opts...)
	if err != nil {
		return err
	}
	err = use(s)
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	return err
}

// CountTypes calls proof.CountTypes and returns a report without roots. Its Totals are for the
// audit; the totals of attribution are 0.
func (s Process) CountTypes(all []*proof.TypeCount) (*refscan.Report, bool, error) {
	c, within, err := proof.CountTypes((*snapshot.Snapshot)(s.Snapshot), all)
	if err != nil || !within {
		return nil, false, public(err)
	}
	return &refscan.Report{
		GoVersion: runtime.Version(), Collections: c.Collections, Undecided: c.Undecided, Pause: s.Pause(), Warnings: c.Warnings,
		Totals: refscan.Totals{
			LiveObjects: c.LiveObjects, LiveBytes: c.LiveBytes, ExtraBytes: c.ExtraBytes,
			MissedObjects: c.MissedObjects, MissedBytes: c.MissedBytes,
		},
	}, true, nil
}

// Detach calls snapshot.Detach.
func (s Process) Detach() error { return (*snapshot.Snapshot)(s.Snapshot).Detach() }

// Collect calls snapshot.Collect: a garbage collection, for a bounded time.
func Collect(ctx context.Context) error { return public(snapshot.Collect(ctx)) }

// public turns a *snapshot.Unavailable into a *refscan.UnavailableError.
func public(err error) error {
	if u, ok := err.(*snapshot.Unavailable); ok {
		return (*refscan.UnavailableError)(u)
	}
	return err
}
