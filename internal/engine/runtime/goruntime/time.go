package goruntime

import (
	"context"
	"errors"
)

// TimeUp is the panic of a scan whose time is up.
type TimeUp struct{ Err error }

func (t *TimeUp) Error() string { return "the scan had not ended: " + t.Err.Error() }

func (t *TimeUp) Unwrap() error { return t.Err }

// InTime panics with a *TimeUp if the deadline for scans of the model has passed. Scans call it
// from their own goroutine every some thousand objects.
func (m *Model) InTime() {
	if m.Context == nil {
		return
	}
	if err := m.Context.Err(); errors.Is(err, context.DeadlineExceeded) {
		panic(&TimeUp{err})
	}
}
