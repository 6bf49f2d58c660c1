package refscan

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// An UnavailableError says why a snapshot or a scan could not be had. It stands for the verdict
// "unknown": nothing is known about what the program retains, neither good nor bad.
type UnavailableError struct {
	Cause  string // what went wrong, one sentence without a full stop
	Remedy string // what the user can do about it, one sentence without a full stop; "" if nothing
	Err    error  // the underlying error, if any
}

// Error implements error: cause, underlying error and remedy in one line.
func (e *UnavailableError) Error() string {
	s := "refscan: " + e.Cause
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	return s
}

// Unwrap returns the underlying error.
func (e *UnavailableError) Unwrap() error { return e.Err }

// panicError is a panic of this package, kept from reaching the test.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("%v\n%s", e.value, e.stack) }

func unsupportedError() error {
	return &UnavailableError{
		Cause:  "snapshots are not supported on " + runtime.GOOS + "/" + runtime.GOARCH,
		Remedy: "run the test on linux/amd64 or linux/arm64",
		Err:    errors.ErrUnsupported,
	}
}

const remedyReport = "please report this, with the Go version and the error"

func internalError(e any) error {
	return &UnavailableError{
		Cause: "internal error", Remedy: remedyReport,
		Err: &panicError{value: e, stack: string(debug.Stack())},
	}
}

func heapError(err error) error {
	return &UnavailableError{Cause: "the heap of the frozen process cannot be read", Remedy: remedyReport, Err: err}
}
