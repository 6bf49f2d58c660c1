package growth

import (
	"slices"
	"time"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
)

// confirm runs further batches if growth need not be a leak, and returns the outcome with them; nil
// if op failed the test. If there is no time for a further batch, or no snapshot after it, the
// outcome without that batch stands.
func (x *Experiment) confirm(o *assertion.Outcome) *assertion.Outcome {
	if o.Verdict != verdict.Fail || o.Misuse {
		return o
	}
	for _, n := range series.FurtherBatches(x.words.Batches[len(x.words.Batches)-1]) {
		if !x.isDoubtful() || !x.hasTimeFor(n) {
			break
		}
		x.runBatch(n)
		if x.failed {
			return nil
		}
		if x.late || x.snapshot() != nil {
			x.late = false
			break
		}
		m := x.past.Last()
		x.past.Snapshots = x.past.Snapshots[:len(x.past.Snapshots)-1]
		if !m.IsAsGoodAs(x.past.First()) {
			break
		}
		x.past.Further = append(x.past.Further, m)
	}
	if len(x.past.Further) > 0 {
		o, _ = x.conclude()
	}
	return o
}

// hasTimeFor reports whether there is time for this number of calls and a snapshot after them.
func (x *Experiment) hasTimeFor(calls int) bool {
	return x.Time.Allows(2*x.slowestSnapshot + time.Duration(calls+1)*x.slowestCall)
}

// isDoubtful reports whether the further batches so far leave open for some growth whether it is a
// leak.
func (x *Experiment) isDoubtful() bool {
	return slices.ContainsFunc(x.finder.Growth().Leaks, func(l *finding.Leak) bool {
		switch {
		case l.IsResource():
			return !l.Resources[0].Own.IsClear()
		case l.Goroutines != nil:
			return !l.Piled.IsClear()
		}
		own := x.finder.SeriesOf(l)
		return !own.IsClear()
	})
}
