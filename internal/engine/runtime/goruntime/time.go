package goruntime

import (
	"context"
	"errors"
)

// TimeUp is the panic of a scan whose time is up.
type TimeUp struct{ Err error }

func (t *TimeUp) Error() string { return "the scan had not ended: " + t.Err.Error() }

func (t *TimeUp) Unwrap() error { return t.Err }

// ObjectsBetween is how many objects a loop over the heap may visit between two calls of InTime.
// Where the image is on a disk, an object may take a tenth of a millisecond.
const ObjectsBetween = 1 << 10

// InTime panics with a *TimeUp if the deadline for scans of the model has passed, and with the
// error of Watch if it has one. All loops over the heap call it, from any goroutine.
func (m *Model) InTime() {
	if m.Watch != nil {
		if err := m.Watch(); err != nil {
			panic(err)
		}
	}
	if m.Context == nil {
		return
	}
	if err := m.Context.Err(); errors.Is(err, context.DeadlineExceeded) {
		panic(&TimeUp{err})
	}
}
