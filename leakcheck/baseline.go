package leakcheck

import (
	"runtime"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A Baseline records the memory retained at one moment, as figures per path and type, and the
// goroutines. It does not keep the program's own memory alive. Several assertions may use it.
type Baseline struct{ of request.Baseline }

// TakeBaseline snapshots the process, for Since. It costs what one assertion costs. It keeps a copy
// of the memory with pointers, outside of the Go heap, as long as the baseline is in use.
//
// If no snapshot can be taken, assertions that use the baseline have the verdict unknown.
func TakeBaseline(t TestingT) *Baseline {
	environ.NeedT(t, "TakeBaseline")
	t.Helper()
	b := &Baseline{*assertion.ThisProcess().TakeBaseline(t)}
	if b.of.Snapshot != nil { // AddCleanup would take a kilobyte more of each test binary
		runtime.SetFinalizer(b, func(b *Baseline) { _ = b.of.Snapshot.Close() })
	}
	return b
}
