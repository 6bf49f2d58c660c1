package leakcheck

import (
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A Baseline is what was retained at one moment, as figures per path and type, and what goroutines
// there were: nothing in it keeps the program's own memory alive. It may be used by several
// assertions.
type Baseline struct{ of request.Baseline }

// TakeBaseline snapshots the process, for Since. It costs what one assertion costs.
//
// Where no snapshot can be had, assertions that use the baseline have the verdict unknown.
func TakeBaseline(t TestingT) *Baseline {
	environ.NeedT(t, "TakeBaseline")
	t.Helper()
	return &Baseline{*assertion.ThisProcess().TakeBaseline(t)}
}
