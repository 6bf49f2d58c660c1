package leakcheck

import (
	"runtime"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
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
	if s := b.of.Snapshot; s != nil {
		runtime.AddCleanup(b, func(s observe.Frozen) { _ = s.Close() }, s)
	}
	return b
}
