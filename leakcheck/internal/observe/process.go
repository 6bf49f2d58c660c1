package observe

import (
	"context"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
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

// Inventory returns what the program has; it must not be closed.
func (s Process) Inventory() *debuginfo.Inventory {
	return &debuginfo.Inventory{Index: (*snapshot.Snapshot)(s.Snapshot).Index()}
}

// Detach calls snapshot.Detach.
func (s Process) Detach() error { return (*snapshot.Snapshot)(s.Snapshot).Detach() }

// FrozenAt calls snapshot.FrozenAt.
func (s Process) FrozenAt() time.Duration { return (*snapshot.Snapshot)(s.Snapshot).FrozenAt() }

// Collect calls snapshot.Collect: a garbage collection, for a bounded time.
func Collect(ctx context.Context) error { return public(snapshot.Collect(ctx)) }

// public turns a *snapshot.Unavailable into a *refscan.UnavailableError.
func public(err error) error {
	if u, ok := err.(*snapshot.Unavailable); ok {
		return (*refscan.UnavailableError)(u)
	}
	return err
}
