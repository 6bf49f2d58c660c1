package refscan

import "github.com/leakgate/leakgate/internal/engine/capture/snapshot"

// An UnavailableError says why there is no snapshot or no scan. It stands for the verdict
// "unknown": nothing is known about what the program retains, neither good nor bad.
type UnavailableError struct {
	Cause string `json:"cause"` // what went wrong, one sentence without a full stop
	// what the user can do about it, one sentence without a full stop; "" if nothing
	Remedy string `json:"remedy,omitempty"`
	Err    error  `json:"-"` // the underlying error, if any
}

// Error implements error: cause, underlying error and remedy in one line.
func (e *UnavailableError) Error() string { return (*snapshot.Unavailable)(e).Error() }

// Unwrap returns the underlying error.
func (e *UnavailableError) Unwrap() error { return e.Err }

// public converts an error of package snapshot to one of this package. Use:
//
//	defer public(&err)
func public(err *error) {
	if u, ok := (*err).(*snapshot.Unavailable); ok {
		*err = (*UnavailableError)(u)
	}
}
