package freeze

import (
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
)

// A Range is a stretch of the frozen process's address space.
type Range = image.Range

var _ image.Source = (*Process)(nil)

// An Error is a failure to freeze the process or to read the frozen process.
type Error struct {
	Op     string // what was tried, such as "fork"
	Remedy string // what the user can do about it; "" if nothing is known
	Err    error
}

// Error implements error: what was tried, why it failed and what to do.
func (e *Error) Error() string {
	s := "freeze: " + e.Op + ": " + e.Err.Error()
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	return s
}

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// failed makes an error an *Error, unless it is one. The remedy is the remedy for the system call
// that was refused.
func failed(op string, err error) *Error {
	if e, ok := err.(*Error); ok {
		return e
	}
	return &Error{Op: op, Remedy: remedy.Of(err), Err: err}
}
