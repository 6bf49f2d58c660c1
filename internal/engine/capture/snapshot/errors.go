package snapshot

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
)

// Unavailable is a refscan.UnavailableError, which has the same fields: package refscan converts
// it.
type Unavailable = remedy.Unavailable

// RemedyReport is the remedy of faults of this tool.
const RemedyReport = "please report this, with the Go version and the error"

// internalError is a panic of this package, kept from reaching the test.
func internalError(e any) error {
	return &Unavailable{Cause: "internal error", Remedy: RemedyReport, Err: fmt.Errorf("%v\n%s", e, debug.Stack())}
}

// imageError turns the error of a system that refuses to freeze the process or to read the frozen
// one into an *Unavailable; it returns nil for other errors.
func imageError(err error, cause string) error {
	if u := (*Unavailable)(nil); errors.As(err, &u) {
		return u
	}
	if u := memoryShortage(err); u != nil {
		return u
	}
	if e := (*freeze.Error)(nil); errors.As(err, &e) && e.Remedy != "" {
		return &Unavailable{Cause: cause + e.Op, Remedy: e.Remedy, Err: e.Err}
	}
	if e := (*image.ReadError)(nil); errors.As(err, &e) {
		return withheldError(freeze.NotForked([]freeze.Range{e.Range}))
	}
	return nil
}

// withheldError is the error for heap memory that the fork leaves out, nil if advice is "".
func withheldError(advice string) error {
	if advice == "" {
		return nil
	}
	return &Unavailable{
		Cause: "part of the Go heap is left out of forked processes: the program asked for that with madvise(" + advice + ")",
		Remedy: "do not give Go memory to libraries that call madvise so, such as those for RDMA (RDMAV_FORK_SAFE, ibv_fork_init); " +
			"let them have memory of C or of mmap",
	}
}

// HeapError turns an error of reading the heap into an *Unavailable.
func HeapError(err error) error {
	if u := imageError(err, "the frozen process cannot be read: "); u != nil {
		return u
	}
	return &Unavailable{Cause: "the heap of the frozen process cannot be read", Remedy: RemedyReport, Err: err}
}
