// Package growth calls an operation again and again, and finds what grows with the number of calls.
package growth

import (
	"context"
	"time"

	"github.com/leakgate/leakgate/internal/engine/proof"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

const (
	// MaxBatch is how often op is called at most in the first batch, and batchTime how long that
	// may take if MinBatch calls do not take longer.
	MaxBatch  = 250
	MinBatch  = 5
	batchTime = 25 * time.Millisecond
)

// An Experiment is one run of AssertNoGrowth.
type Experiment struct {
	*assertion.Assertion
	Op       func()
	Count    goroutineCounter
	Watchers Watchers
	calls    int64           // of op, up to now
	longer   int             // by how many calls the warm-up was longer than the first batch
	suspects []*finding.Leak // what had grown with each batch at some snapshot before the last

	past   *history.History
	finder *finding.Finder
	words  *wording.Wording

	alsoHeldBy []observe.Place // what the next snapshot says who else holds
	native     bool            // it says who holds native memory, if artifacts are kept

	open   int   // descriptors, before the first call
	mapped int64 // bytes, by calls in batches; see countMapped

	passed func() // called after each call of op, if it is not nil

	fails  func() bool // whether op has failed the test by now
	failed bool        // it had after its last call, and is not called again
	late   bool        // there is no time for another call and a snapshot after it

	slowestCall, slowestSnapshot time.Duration
	spent                        time.Duration // in all calls
}

func (x *Experiment) inconclusive(err error) *assertion.Outcome {
	o := x.Unknown(err)
	if len(x.past.Snapshots) > 0 {
		o.Eval = x.past.Last().Eval
	}
	return o
}

// A goroutineCounter tells how many goroutines there are of each origin, by what the program's
// packages are.
type goroutineCounter func(isProgram func(pkg string) bool) map[pile.Origin]pile.Goroutines

// Watchers begin to watch this process without a snapshot.
type Watchers struct {
	// which objects, goroutines and timers there are; nil: nothing is proved without snapshots
	Objects func(ctx context.Context, logf func(string, ...any)) (*proof.Watch, error)
	// how long slices are; nil: nothing is said of that
	Slices func(ctx context.Context, logf func(string, ...any)) (*proof.Slices, error)
}

// OfThisProcess are the watchers of assertions.
func OfThisProcess() Watchers { return Watchers{proof.StartWatch, proof.WatchSlices} }
