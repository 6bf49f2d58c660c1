package refscan

import (
	"context"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
)

// A CaptureOption changes how Capture works.
type CaptureOption interface{ Configure(*snapshot.Config) }

type captureOption func(*snapshot.Config)

func (f captureOption) Configure(c *snapshot.Config) { f(c) }

// WithContext bounds the preparations of a capture: the search for debug information, which may
// have to build a twin of the test binary, and the wait for the program to settle.
func WithContext(ctx context.Context) CaptureOption {
	return captureOption(func(c *snapshot.Config) { c.Context = ctx })
}

// WithoutSettling freezes the process as it is, after one garbage collection, without waiting for
// finalizers, cleanups and ending goroutines.
func WithoutSettling() CaptureOption {
	return captureOption(func(c *snapshot.Config) { c.Settle = false })
}

// WithLog calls logf about steps that take long, such as building a twin.
func WithLog(logf func(format string, args ...any)) CaptureOption {
	return captureOption(func(c *snapshot.Config) { c.Logf = logf })
}

// configured returns the capture configuration that opts describe.
func configured(opts []CaptureOption) snapshot.Config {
	c := snapshot.Default()
	for _, o := range opts {
		o.Configure(&c)
	}
	return c
}

// A Snapshot is a frozen, consistent image of this process. It holds a child process, memory
// outside of the Go heap and a few descriptors until Close. It is not safe for concurrent use.
type Snapshot snapshot.Snapshot

func (s *Snapshot) in() *snapshot.Snapshot { return (*snapshot.Snapshot)(s) }

// Capture waits for the program to settle, collects garbage and freezes the process, by forking it
// or, where little has to be copied, by copying it in place. The program is stopped only for the
// freeze, for some milliseconds (see Pause). The first capture of a binary also reads (or builds)
// its debug information, which takes up to some seconds.
//
// Every failure is an *UnavailableError. Several goroutines may call Capture at once; they take
// turns.
func Capture(opts ...CaptureOption) (_ *Snapshot, err error) {
	defer public(&err)
	s, err := snapshot.Capture(configured(opts))
	return (*Snapshot)(s), err
}

// Pause is how long the world was stopped.
func (s *Snapshot) Pause() time.Duration { return s.in().Pause() }

// Settled is how long Capture waited for the program to settle.
func (s *Snapshot) Settled() time.Duration { return s.in().Settled() }

// Close gives back what the snapshot holds. It may be called more than once.
func (s *Snapshot) Close() (err error) {
	defer public(&err)
	return s.in().Close()
}
