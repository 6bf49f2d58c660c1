package assertion

import (
	"errors"
	"slices"

	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// TakeNative returns what C code has from malloc, which is nothing in a program without a C library.
// Errors are *refscan.UnavailableError.
func (c *Checker) TakeNative() (*nativeheap.Heap, error) {
	unknown := func(cause, remedy string) error {
		return &refscan.UnavailableError{Cause: "native memory cannot be counted: " + cause, Remedy: remedy}
	}
	if c.Native == nil {
		return nil, unknown("it is not looked at", "leave out NativeMemory")
	}
	h, err := c.Native()
	var u *nativeheap.UnknownError
	switch {
	case errors.Is(err, nativeheap.ErrNone):
		return &nativeheap.Heap{}, nil
	case errors.As(err, &u):
		return nil, unknown(u.Cause, u.Remedy)
	case err != nil:
		return nil, unknown(err.Error(), "leave out NativeMemory")
	}
	return h, nil
}

// addNative adds what C code has to a ledger, and to that of the baseline, if it was asked for.
func (a *Assertion) addNative(l *ledger.Ledger) error {
	if !slices.ContainsFunc(a.Req.Resources, func(o request.ResourceOption) bool { return o.Kind.OfMalloc() }) {
		return nil
	}
	h, err := a.TakeNative()
	if err != nil {
		return err
	}
	l.AddNative(h)
	b := a.Req.Baseline
	switch {
	case b == nil:
	case b.Native == nil && b.NativeErr != nil:
		return b.NativeErr
	case b.Native == nil:
		return &refscan.UnavailableError{Cause: "native memory was not counted when the baseline was taken"}
	}
	return nil
}
