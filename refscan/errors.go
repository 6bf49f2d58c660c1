package refscan

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/leakgate/leakgate/internal/engine/freeze"
	"github.com/leakgate/leakgate/internal/engine/image"
)

// An UnavailableError says why a snapshot or a scan could not be had. It stands for the verdict
// "unknown": nothing is known about what the program retains, neither good nor bad.
type UnavailableError struct {
	Cause string `json:"cause"` // what went wrong, one sentence without a full stop
	// what the user can do about it, one sentence without a full stop; "" if nothing
	Remedy string `json:"remedy,omitempty"`
	Err    error  `json:"-"` // the underlying error, if any
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

// imageError is the error of a system that does not let us freeze the process or read the frozen
// one, nil for other errors.
func imageError(err error, cause string) error {
	if u := (*UnavailableError)(nil); errors.As(err, &u) {
		return u
	}
	if u := memoryShortage(err); u != nil {
		return u
	}
	if e := (*freeze.Error)(nil); errors.As(err, &e) && e.Remedy != "" {
		return &UnavailableError{Cause: cause + e.Op, Remedy: e.Remedy, Err: e.Err}
	}
	if e := (*image.ReadError)(nil); errors.As(err, &e) {
		return withheldError(freeze.Withheld([]freeze.Range{e.Range}))
	}
	return nil
}

// withheldError is the error of heap memory that forking leaves out, nil if advice is "".
func withheldError(advice string) error {
	if advice == "" {
		return nil
	}
	return &UnavailableError{
		Cause: "part of the Go heap is left out of forked processes: the program asked for that with madvise(" + advice + ")",
		Remedy: "do not give Go memory to libraries that call madvise so, such as those for RDMA (RDMAV_FORK_SAFE, ibv_fork_init); " +
			"let them have memory of C or of mmap",
	}
}

func heapError(err error) error {
	if u := imageError(err, "the frozen process cannot be read: "); u != nil {
		return u
	}
	return &UnavailableError{Cause: "the heap of the frozen process cannot be read", Remedy: remedyReport, Err: err}
}
