package trial

import (
	"math"
	"slices"
	"time"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
)

// isDoubtful reports whether the further batches so far leave open for some growth whether it is a
// leak. The bytes of arrays need at least one: an array that is as long as a batch doubles exactly
// as batches do.
func isDoubtful(f *finding.Finder) bool {
	return slices.ContainsFunc(f.Growth().Leaks, func(l *finding.Leak) bool {
		own := seriesOf(f, l)
		return (!own.IsClear() || isOfArrays(l) && len(own.More) == 0) && !isUsedClearly(f, l)
	})
}

// isOfArrays reports whether a leak was found by the bytes of memory that grows in steps.
func isOfArrays(l *finding.Leak) bool {
	return !l.IsResource() && l.Goroutines == nil && l.Measure == finding.InBytes
}

// isUsedClearly reports whether the bytes that a leak has in use, which grow in no steps, have gone
// on to grow in a further batch, where those of its arrays leave that open.
func isUsedClearly(f *finding.Finder, l *finding.Leak) bool {
	if !isOfArrays(l) {
		return false
	}
	used := f.Measured(l.Heads[0], finding.InUse)
	return len(used.More) > 0 && used.IsClear() && !used.LevelsOff()
}

// seriesOf is the series that a leak was found by.
func seriesOf(f *finding.Finder, l *finding.Leak) series.Series {
	if l.IsResource() {
		return l.Resources[0].Own
	}
	return f.SeriesOf(l)
}

const (
	// confirmTime bounds the duration of the last batch, where it only confirms an exact leak: each
	// call may take longer than the one before, since what leaks makes it slower.
	confirmTime = time.Second
	minConfirm  = 20 // calls
)

// confirmSize returns the number of calls in the last batch: n, or less if it would take longer
// than confirmTime and something grew by the same number with each call so far.
func confirmSize(f *finding.Finder, n int, m *Means) int {
	most := int(confirmTime / max(1, m.Last))
	if f.Req.Iterations > 0 || n <= max(minConfirm, most) {
		return n
	}
	if !slices.ContainsFunc(f.Growth().Leaks, func(l *finding.Leak) bool {
		own := seriesOf(f, l)
		return own.IsExact()
	}) {
		return n
	}
	return max(minConfirm, most)
}

// minRecords is how many objects of each leak recorded calls leave, if each call leaves the same
// number. Small values share blocks of 16 bytes, of which one is recorded.
const minRecords = 64

// EnoughRecorded returns how many calls of a batch leave minRecords objects of each leak, at most
// n. The array of a slice, whose bytes grow, may be allocated in any call, and so may the blocks of
// a map by pointers, whose stacks tell who adds entries for objects that others make.
func EnoughRecorded(f *finding.Finder, n int) int {
	enough := 0
	for _, l := range f.Growth().Leaks {
		own := seriesOf(f, l)
		c := l.Container()
		if !own.IsExact() || isOfArrays(l) || c != nil && symbol.IsMapByPointers(c.Typ) {
			return n
		}
		enough = max(enough, int(math.Ceil(minRecords/own.PerCall())))
	}
	return min(n, enough)
}
