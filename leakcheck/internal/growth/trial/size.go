package trial

import (
	"slices"
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// restartTime bounds the duration of the first batch after a trial has begun anew, where the calls
// made before make that batch larger.
const restartTime = 250 * time.Millisecond

// affordable returns the size of the first batch: batch, or less if the test would time out before
// the last one. The last batch has eight times as many calls, and waits and snapshots lie between
// the batches. With Iterations it always returns batch.
func affordable(batch, iterations int, m *Means) int {
	left := m.Left()
	if left == endless || iterations > 0 || m.Slowest <= 0 {
		return batch
	}
	left -= (series.Intervals + 2) * m.Snapshot
	for _, wait := range assertion.RetryWaits {
		left -= wait
	}
	const all = 1<<(series.Intervals+1) - 1 // calls of all batches, if the first has one
	return max(1, min(batch, int((left-2*m.Slowest)/max(1, all*2*m.Usual()))))
}

// nextSize returns the number of calls in the next batch: as many as all calls before it, without
// those by which the warm-up was longer than the first batch. Memory that is allocated in steps,
// each twice as large as the one before, then grows in each batch. So the batches double, beginning
// with the first, unless extraCalls made one of them longer, or the trial has begun anew. In these
// cases the batches are as large as time permits. An array may have more than twice the capacity of
// the one before, up to its size class (go1.26 runtime/slice.go, growslice): where calls make a
// slice longer, the batch has enough calls to fill it.
func (t *Trial) nextSize(m *Means) int {
	i := len(t.Snapshots) - 1
	n := t.evenSize(i, m) + t.extraCalls(i, m)
	if fill := t.fill(i, n, m); fill > n {
		n = max(n, affordable(fill>>i+1, t.Req.Iterations, m)<<i)
	}
	return n
}

// evenSize is the size of the i-th batch, from 0 on, without extraCalls.
func (t *Trial) evenSize(i int, m *Means) int {
	doubled := t.first << i
	n := max(doubled, int(m.Calls)-t.longer)
	if n > 2*doubled {
		n = min(n>>i, int(restartTime/max(m.Slowest, 1)))
		n = max(doubled, affordable(n, t.Req.Iterations, m)<<i)
	}
	return n
}

// extraCalls returns the number of extra calls of the i-th batch, from 0 on: none, unless temporary
// files grow. Tests of several packages run side by side and share a folder for these files. If
// another process finds its own leak of files with batches that double, at the same moments, its
// files would be mistaken for those of this process. With random extra calls in both processes,
// files grow in step only with the calls of their own process.
func (t *Trial) extraCalls(i int, m *Means) int {
	if i == 0 || !slices.ContainsFunc(t.Resources(), func(r *finding.Resource) bool { return r.Kind == ledger.File }) {
		return 0
	}
	return 1 + int(m.Seed%uint64(max(t.first, minOdd)))
}

// minOdd is the least number of values that extraCalls chooses from.
const minOdd = 4

// BelowLimits returns n, or less if the calls of this batch, from 0 on, and the batches after it
// would have no room below a limit; 0 if there is no room at all.
func BelowLimits(i, n, room int) int {
	return min(n, max(room/max(1, series.Intervals+2-i), min(1, room)))
}

// laterTime bounds the duration of the batch after the wait of Outlast. Whoever takes away what is
// over looks for it with each call, or each so many.
const laterTime = 5 * time.Second

// laterSize is the number of calls of that batch: half as many as so far, if they take little.
func laterSize(m *Means) int {
	n := int(m.Calls / 2)
	if m.Last*time.Duration(n) > laterTime {
		n = int(max(1, laterTime/max(1, m.Last)))
	}
	return n
}
