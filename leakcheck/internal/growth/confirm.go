package growth

import (
	"slices"
	"time"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// confirm runs further batches if growth need not be a leak, and returns the outcome with them; nil
// if op failed the test. If there is no time for a further batch, or no snapshot after it, the
// outcome without that batch stands.
func (x *Experiment) confirm(o *assertion.Outcome) *assertion.Outcome {
	if o.Verdict != verdict.Fail || o.Misuse {
		return o
	}
	for _, n := range series.FurtherBatches(x.words.Batches[len(x.words.Batches)-1]) {
		if !x.isDoubtful() || !x.hasTimeFor(n) || x.limits.room(x.op.calls) < n {
			break
		}
		x.runBatch(n)
		if x.op.failed {
			return nil
		}
		if x.op.late || x.snapshot(observe.Needs{}) != nil {
			x.op.late = false
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
	return x.Time.Allows(2*x.slowestSnapshot + 2*x.op.slowest + time.Duration(calls)*2*x.op.usual())
}

// isDoubtful reports whether the further batches so far leave open for some growth whether it is a
// leak. The bytes of arrays need at least one: an array that is as long as a batch doubles exactly
// as batches do.
func (x *Experiment) isDoubtful() bool {
	return slices.ContainsFunc(x.finder.Growth().Leaks, func(l *finding.Leak) bool {
		own := x.seriesOf(l)
		return (!own.IsClear() || isOfArrays(l) && len(own.More) == 0) && !x.isUsedClearly(l)
	})
}

// isOfArrays reports whether a leak was found by the bytes of memory that grows in steps.
func isOfArrays(l *finding.Leak) bool {
	return !l.IsResource() && l.Goroutines == nil && l.Measure == history.InBytes
}

// isUsedClearly reports whether the bytes that a leak has in use, which grow in no steps, have gone
// on to grow in a further batch, where those of its arrays leave that open.
func (x *Experiment) isUsedClearly(l *finding.Leak) bool {
	if !isOfArrays(l) {
		return false
	}
	used := x.finder.Measured(l.Heads[0], history.InUse)
	return len(used.More) > 0 && used.IsClear() && !used.LevelsOff()
}

// seriesOf is the series that a leak was found by.
func (x *Experiment) seriesOf(l *finding.Leak) series.Series {
	if l.IsResource() {
		return l.Resources[0].Own
	}
	return x.finder.SeriesOf(l)
}

const (
	// confirmTime bounds the duration of the last batch, where it only confirms an exact leak: each
	// call may take longer than the one before, since what leaks makes it slower.
	confirmTime = time.Second
	minConfirm  = 20 // calls
)

// confirmSize returns the number of calls in the last batch: n, or less if it would take longer
// than confirmTime and something grew by the same number with each call so far.
func (x *Experiment) confirmSize(n int) int {
	most := int(confirmTime / max(1, x.lastCall))
	if x.Req.Iterations > 0 || n <= max(minConfirm, most) {
		return n
	}
	if !slices.ContainsFunc(x.finder.Growth().Leaks, func(l *finding.Leak) bool {
		own := x.seriesOf(l)
		return own.IsExact()
	}) {
		return n
	}
	return max(minConfirm, most)
}
