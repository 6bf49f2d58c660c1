// Package growth calls an operation again and again, and finds what grows with the number of calls.
package growth

import (
	"context"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

const (
	// MaxBatch is the maximum number of calls in the first batch. batchTime bounds the duration of
	// that batch, unless MinBatch calls take longer.
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
	suspects []*finding.Leak // leaks at any snapshot so far; a pass logs them

	// paths of slices that calls made longer before the experiment began anew to fill them
	longerBefore map[string]bool

	past   *history.History
	finder *finding.Finder
	words  *wording.Wording

	began      time.Time           // before the first call, by the clock that op sees
	alsoHeldBy []observe.Place     // places whose other holders the next snapshot finds
	times      *observe.TimesQuery // that the next snapshot answers
	// by stack, from before the batch that is recorded; nil unless makers of resources are wanted
	allocated map[[32]uintptr]int64
	native    bool // the next snapshot finds native holders, if artifacts are kept

	before    stock                        // before the first call
	announced bool                         // what piles up is on standard error
	looked    struct{ grown, calls int64 } // when limits were last looked at
	mapped    int64                        // bytes that calls in batches have mapped; see countMapped

	passed func() // called after each call of op, if it is not nil

	inOp   bool        // op has been called and has not returned
	fails  func() bool // whether op has failed the test by now
	failed bool        // op failed the test in its last call and is not called again
	late   bool        // there is no time for another call and a snapshot after it

	slowestCall, slowestSnapshot time.Duration
	spent                        time.Duration // in all calls
	lastCall                     time.Duration // of the last batch, on average
}

func (x *Experiment) inconclusive(err error) *assertion.Outcome {
	o := x.Unknown(err)
	if len(x.past.Snapshots) > 0 {
		o.Eval = x.past.Last().Eval
	}
	return o
}

// A goroutineCounter counts goroutines by origin. isProgram reports whether a package belongs to
// the program.
type goroutineCounter func(isProgram func(pkg string) bool) map[pile.Origin]pile.Goroutines

// Watchers start to watch this process without a snapshot.
type Watchers struct {
	// Objects watches objects, goroutines and timers; nil: nothing is proved without snapshots
	Objects func(ctx context.Context, logf func(string, ...any)) (*proof.Watch, error)
	// Slices records the lengths of slices; nil: the lengths are unknown
	Slices func(ctx context.Context, logf func(string, ...any)) (*proof.Slices, error)
}

// OfThisProcess returns the watchers that assertions use.
func OfThisProcess() Watchers { return Watchers{proof.StartWatch, proof.WatchSlices} }
