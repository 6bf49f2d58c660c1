package leakcheck

import (
	"errors"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// Find makes the checks of AssertRetained, and returns the findings instead of failing a test: for
// code that polls, for benchmarks, and for test frameworks whose tests are no TestingT.
//
//	gomega.Eventually(func() error {
//		return leakcheck.Find(leakcheck.Type[*app.Session]().None())
//	}).Should(gomega.Succeed())
//
// It returns nil if everything holds, a *FoundError with the message of AssertRetained if something
// does not, and an *UnknownError if the result is unknown. An invalid option is an error of neither
// type. Find needs at least one bound, or Golden: with that it compares, and never writes the file.
// It leaves no artifacts and no record for leakgate run, costs as much as AssertRetained, and may
// be called from several goroutines, which take turns.
func Find(opts ...Option) error {
	r := newRequest(opts)
	defer r.Close()
	return found(assertion.About(r.Process).Find(environ.CallSite(1), r))
}

func found(o *assertion.Outcome) error {
	switch {
	case o.Verdict == verdict.Unknown:
		return &UnknownError{err: o.Err, message: o.Message}
	case o.Verdict == verdict.Pass:
		return nil
	case o.Misuse || len(o.Bounds) == 0:
		return errors.New(o.Message)
	}
	e := &FoundError{message: o.Message}
	for _, b := range o.Bounds {
		e.Findings = append(e.Findings, Finding{Selector: b.Selector, Objects: b.Objects, Bytes: b.Bytes, Path: b.Path, Type: b.Type, File: b.File, Line: b.Line})
	}
	return e
}

// A FoundError says that more is retained than the options of Find allow.
type FoundError struct {
	Findings []Finding // one for each bound, or line of the golden file, that does not hold
	message  string
}

// Error returns the message of AssertRetained, which has several lines.
func (e *FoundError) Error() string { return e.message }

// A Finding describes a bound, or a line of a golden file, that does not hold.
type Finding struct {
	Selector   string // as written: `Root("app.sessions")`, or "golden " and the path
	Objects    int64  // that count for the bound: heap objects, or goroutines
	Bytes      int64  // of heap or stack
	Path, Type string // where most of it is, "" if that is not known
	// where the variable at its root is declared, relative to the package's folder; "" if that is
	// not known
	File string
	Line int
}

// An UnknownError says that Find could not tell what is retained. The error that it wraps is a
// *refscan.UnavailableError, with the cause and what to do about it.
type UnknownError struct {
	err     error
	message string
}

// Error returns the cause and the remedy, in several lines.
func (e *UnknownError) Error() string { return e.message }

// Unwrap returns the cause.
func (e *UnknownError) Unwrap() error { return e.err }
