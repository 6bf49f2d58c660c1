package growth

import (
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"slices"
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// warmUp calls op at least twice (once if Warmup is 1) and returns the size of the first batch.
// Unless op is slow, it makes as many calls as that batch has: memory that is allocated in steps,
// each twice as large as the one before, then grows in each batch. Warmup overrides the number of
// calls.
func (x *Experiment) warmUp() int {
	best := time.Duration(math.MaxInt64)
	timed := 2 // the first call may set up what all others use
	if x.Req.Warmup == 1 {
		timed = 1
	}
	for range timed {
		before := x.op.spent
		x.call(1, nil)
		best = min(best, x.op.spent-before)
	}
	batch := BatchSize(best)
	if x.Req.Iterations > 0 {
		batch = x.Req.Iterations
	}
	switch {
	case x.Req.Warmup > 0:
		x.callBelowLimits(x.Req.Warmup - timed)
	case best*time.Duration(batch) <= 2*batchTime:
		if later := x.callBelowLimits(batch - timed); later > 0 {
			batch = min(batch, BatchSize(best+later))
		}
	}
	x.awaitTimers(int(x.op.calls))
	return batch
}

// BatchSize returns the number of calls in the first batch, given the duration of one call.
func BatchSize(op time.Duration) int {
	switch {
	case op > 500*time.Millisecond:
		return 2
	case op > 50*time.Millisecond:
		return 3
	}
	return int(min(MaxBatch, max(MinBatch, batchTime/max(op, 1))))
}

// affordable returns the size of the first batch: batch, or less if the test would time out before
// the last one. The last batch has eight times as many calls, and waits and snapshots lie between
// the batches. With Iterations it always returns batch.
func (x *Experiment) affordable(batch int) int {
	if x.Time.End.IsZero() || x.Req.Iterations > 0 || x.op.slowest <= 0 {
		return batch
	}
	left := x.Time.Left() - (series.Intervals+2)*x.slowestSnapshot
	for _, wait := range assertion.RetryWaits {
		left -= wait
	}
	const calls = 1<<(series.Intervals+1) - 1 // of all batches, if the first has one
	return max(1, min(batch, int((left-2*x.op.slowest)/max(1, calls*2*x.op.usual()))))
}

// restartTime bounds the duration of the first batch after an experiment has begun anew, where the
// calls made before make that batch larger.
const restartTime = 250 * time.Millisecond

// nextSize returns the number of calls in the next batch: as many as all calls before it, without
// those by which the warm-up was longer than the first batch. Memory that is allocated in steps,
// each twice as large as the one before, then grows in each batch. So the batches double, beginning
// with first, unless extraCalls made one of them longer, or the experiment has begun anew. In these
// cases the batches are as large as time permits. An array may have more than twice
// the capacity of the one before, up to its size class (go1.26 runtime/slice.go, growslice): where
// calls make a slice longer, the batch has enough calls to fill it.
func (x *Experiment) nextSize(first int) int {
	i := len(x.past.Snapshots) - 1
	n := x.evenSize(i, first) + x.extraCalls(i, first)
	if fill := x.fill(i, n); fill > n {
		n = max(n, x.affordable(fill>>i+1)<<i)
	}
	return n
}

// evenSize is the size of the i-th batch, from 0 on, without extraCalls.
func (x *Experiment) evenSize(i, first int) int {
	doubled := first << i
	n := max(doubled, int(x.op.calls)-x.longer)
	if n > 2*doubled {
		n = min(n>>i, int(restartTime/max(x.op.slowest, 1)))
		n = max(doubled, x.affordable(n)<<i)
	}
	return n
}

// extraCalls returns the number of extra calls of the i-th batch, from 0 on: none, unless temporary
// files grow. Tests of several packages run side by side and share a folder for these files. If
// another process finds its own leak of files with batches that double, at the same moments, its
// files would be mistaken for those of this process. With random extra calls in both processes,
// files grow in step only with the calls of their own process.
func (x *Experiment) extraCalls(i, batch int) int {
	if i == 0 || !slices.ContainsFunc(x.finder.Resources(), func(r *finding.Resource) bool { return r.Kind == ledger.File }) {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprint(h, os.Getpid(), x.Now().UnixNano())
	return 1 + int(h.Sum64()%uint64(max(batch, minOdd)))
}

// minOdd is the least number of values that extraCalls chooses from.
const minOdd = 4

func (x *Experiment) runBatch(n int) { x.runBatchWith(n, func() { x.call(n, nil) }) }

// runBatchWith runs a batch of n calls of op, which calls makes.
func (x *Experiment) runBatchWith(n int, calls func()) {
	end, before := x.mapped.measure(), x.op.spent
	calls()
	x.awaitTimers(n)
	end()
	x.lastCall = (x.op.spent - before) / time.Duration(n)
	x.words.Batches = append(x.words.Batches, n)
}
