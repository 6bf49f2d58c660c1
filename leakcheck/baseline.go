package leakcheck

import (
	"errors"
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A Baseline records the memory retained at one moment, as figures per path and type, and the
// goroutines. It does not keep the program's own memory alive. Several assertions may use it.
type Baseline struct{ of request.Baseline }

// A BaselineOption is a ProcessOption. The set is closed.
type BaselineOption interface {
	applyBaseline(*request.Request)
}

// TakeBaseline snapshots the process, for Since. It costs what one assertion costs. It keeps a copy
// of the memory with pointers, outside of the Go heap, as long as the baseline is in use.
//
// If no snapshot can be taken, assertions that use the baseline have the verdict unknown.
//
// With InProcess the baseline is of another process, a copy of which stays as long as the baseline
// is in use: pages that either of the two writes to are then in memory twice.
func TakeBaseline(t TestingT, opts ...BaselineOption) *Baseline {
	environ.NeedT(t, "TakeBaseline")
	t.Helper()
	var r request.Request
	eachOption(opts, r.Problem, func(o BaselineOption) { o.applyBaseline(&r) })
	if len(r.Problems) > 0 {
		err := errors.New(strings.Join(r.Problems, "\n"))
		t.Errorf("leakcheck: no baseline: %v", err)
		return &Baseline{request.Baseline{Unknown: err}}
	}
	defer r.Close()
	b := &Baseline{*assertion.About(r.Process).TakeBaseline(t, r.Process)}
	if b.of.Snapshot != nil { // AddCleanup would take a kilobyte more of each test binary
		runtime.SetFinalizer(b, func(b *Baseline) { _ = b.of.Snapshot.Close() })
	}
	return b
}
