package environ

import (
	"context"
	"fmt"
	"time"

	"github.com/leakgate/leakgate/refscan"
)

// A Budget is how long an assertion may take. It ends before the test's own timeout ends the test
// binary, so that the assertion can report what it saw. The zero value has no end.
type Budget struct {
	Now      func() time.Time
	Deadline time.Time // of the test
	End      time.Time // before Deadline, to leave time for the message and the artifacts
}

// Deadliner is a test that knows when it times out, such as *testing.T.
type Deadliner interface {
	Deadline() (deadline time.Time, ok bool)
}

// started is about when the process started.
var started = time.Now()

// Uptime returns for about how long the process has run.
func Uptime(now time.Time) time.Duration { return now.Sub(started) }

// BinaryDeadline returns when the test binary times out; false in other programs, and if there is
// no timeout.
func BinaryDeadline() (deadline time.Time, ok bool) {
	timeout, err := time.ParseDuration(flagText("test.timeout"))
	return started.Add(timeout), err == nil && timeout > 0
}

// The reserve is left for the message and the artifacts, and for the tests that follow. It is this
// share of the time that is left at the start, within bounds.
const (
	BudgetReserve = 0.05
	MinReserve    = 500 * time.Millisecond
	MaxReserve    = 10 * time.Second
)

// Left returns how much time is left.
func (b Budget) Left() time.Duration {
	if b.End.IsZero() {
		return 1<<63 - 1
	}
	return b.End.Sub(b.Now())
}

// Allows reports whether more time than d is left.
func (b Budget) Allows(d time.Duration) bool { return b.Left() > d }

// Context returns a context that ends when the time is up. Its timer calls a function of this
// package, so that snapshots can tell it from the program's timers. A timer of context.WithTimeout
// cannot be told from them, and stays among the runtime's timers for a while after it is stopped.
func (b Budget) Context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	if b.End.IsZero() {
		return ctx, func() { cancel(nil) }
	}
	timer := time.AfterFunc(b.Left(), func() { cancel(context.DeadlineExceeded) })
	return timed{ctx}, func() {
		timer.Stop()
		cancel(nil)
	}
}

// timed is a context whose error is the cause for which it was cancelled.
type timed struct{ context.Context }

// Err is nil until the context is done, context.DeadlineExceeded where the time was up.
func (t timed) Err() error {
	if t.Context.Err() == nil {
		return nil
	}
	return context.Cause(t.Context)
}

// Spent returns the error of an assertion whose time is up. seen says what it saw until then.
func (b Budget) Spent(seen string, err error) error {
	return &refscan.UnavailableError{
		Cause:  fmt.Sprintf("the test times out in %s, which is too soon to go on: %s", b.Deadline.Sub(b.Now()).Round(100*time.Millisecond), seen),
		Remedy: "raise the timeout (go test -timeout), or let the test take less time",
		Err:    err,
	}
}
