// Package growth calls an operation again and again, and finds what grows with the number of calls.
package growth

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
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
	count    goroutineCounter
	watchers Watchers

	op     operation
	limits limits
	mapped mapped

	past   *history.History
	finder *finding.Finder
	words  *wording.Wording

	began    time.Time       // before the first call, by the clock that op sees
	longer   int             // by how many calls the warm-up was longer than the first batch
	lastCall time.Duration   // of the last batch, on average
	suspects []*finding.Leak // leaks at any snapshot so far; a pass logs them
	// paths of slices that calls made longer before the experiment began anew to fill them
	longerBefore    map[string]bool
	restless        bool // goroutines ran on after op had returned, and the log names one
	timers          timers
	stuck           atomic.Bool // standard error says that a call does not return
	header          string      // of the stack trace of the goroutine that calls op; "": no call was watched
	slowestSnapshot time.Duration
}

func NewExperiment(a *assertion.Assertion, op func(), goroutines goroutineCounter, watchers Watchers) *Experiment {
	past := &history.History{Env: a.Env}
	finder := &finding.Finder{History: past, Req: a.Req}
	return &Experiment{
		Assertion: a, count: goroutines, watchers: watchers, longerBefore: make(map[string]bool),
		op:     operation{run: op, fails: a.FailsFromNow(), time: a.Time},
		limits: limits{test: a.Test, before: takeStock(a.Resources != nil)},
		mapped: mapped{unknown: a.Resources == nil},
		past:   past, finder: finder, words: &wording.Wording{Finder: finder, RecordsNative: a.Native.Record != nil},
	}
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
	// Timers calls visit for each timer that is set; nil: they are unknown
	Timers func(ctx context.Context, visit func(proof.Timer))
}

// OfThisProcess returns the watchers that assertions use.
func OfThisProcess() Watchers { return Watchers{proof.StartWatch, proof.WatchSlices, proof.EachTimer} }
