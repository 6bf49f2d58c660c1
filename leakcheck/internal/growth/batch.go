package growth

import (
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/memprofile"
)

// warmUp calls op at least twice and returns the size of the first batch. As many calls as that
// have then been made, unless op is slow: what is allocated in steps, each twice the one before,
// then grows in each batch.
func (x *Experiment) warmUp() int {
	best := time.Duration(math.MaxInt64)
	timed := 2 // the first call may have to build what all others use
	if x.Req.Warmup == 1 {
		timed = 1
	}
	for range timed {
		start := x.Now()
		x.call(1)
		best = min(best, x.Now().Sub(start))
	}
	batch := BatchSize(best)
	if x.Req.Iterations > 0 {
		batch = x.Req.Iterations
	}
	switch {
	case x.Req.Warmup > 0:
		x.call(x.Req.Warmup - timed)
	case best*time.Duration(batch) <= 2*batchTime:
		x.call(batch - timed)
	}
	return batch
}

// BatchSize returns how often an op that takes so long is called in the first batch.
func BatchSize(op time.Duration) int {
	switch {
	case op > 500*time.Millisecond:
		return 2
	case op > 50*time.Millisecond:
		return 3
	}
	return int(min(MaxBatch, max(MinBatch, batchTime/max(op, 1))))
}

// affordable is the size of the first batch: smaller than asked for where the test would time out
// before the last one, which has eight times as many calls, and waits and snapshots between them.
// Iterations is followed to the letter.
func (x *Experiment) affordable(batch int) int {
	if x.Time.End.IsZero() || x.Req.Iterations > 0 || x.slowestCall <= 0 {
		return batch
	}
	left := x.Time.Left() - (series.Intervals+2)*x.slowestSnapshot
	for _, wait := range assertion.RetryWaits {
		left -= wait
	}
	const calls = 1<<(series.Intervals+1) - 1 // of all batches, if the first has one
	return max(1, min(batch, int(left/(calls*x.slowestCall))))
}

// sparing is the size of the first batch: smaller than asked for where op leaves descriptors and
// would run into the limit of the process, so that all batches have room.
func (x *Experiment) sparing(batch int) int {
	if x.Resources == nil || x.Req.Iterations > 0 || x.calls == 0 {
		return batch
	}
	open, limit, err := ledger.OpenDescriptors()
	if err != nil || open <= x.open {
		return batch
	}
	perCall := float64(open-x.open) / float64(x.calls)
	const calls = 1<<(series.Intervals+1) - 1
	left := float64(limit)*0.8 - float64(open)
	return max(1, min(batch, int(left/(calls*perCall))))
}

// restartTime is how long the first batch may take that is longer since an experiment began anew.
const restartTime = 250 * time.Millisecond

// nextSize is how many calls the next batch has: as many as all calls before, beyond a longer warm-up,
// so that what is allocated in steps, each twice the one before, grows in each batch. These are the
// batches that double, given the size of the first, unless one of them was odd, or the experiment
// has begun anew. Then the batches are as large as there is time and room for. An array may have more
// than twice the room of the one before, as far as its size class has (go1.26 runtime/slice.go,
// growslice): where calls make a slice longer, the batch fills it.
func (x *Experiment) nextSize(first int) int {
	i := len(x.past.Snapshots) - 1
	n := x.evenSize(i, first) + x.odd(i, first)
	if fill := x.fill(i, n); fill > n {
		n = max(n, x.sparing(x.affordable(fill>>i+1))<<i)
	}
	return n
}

// evenSize is the size of the i-th batch, from 0 on, with no calls beside those that double.
func (x *Experiment) evenSize(i, first int) int {
	doubled := first << i
	n := max(doubled, int(x.calls)-x.longer)
	if n > 2*doubled {
		n = min(n>>i, int(restartTime/max(x.slowestCall, 1)))
		n = max(doubled, x.sparing(x.affordable(n))<<i)
	}
	return n
}

// odd is how many calls the i-th batch, from 0 on, has beside those that double: none, unless
// temporary files grow. Tests of several packages run side by side and share a folder for these.
// Where another process finds its own leak of files by batches that double, at the same moments,
// its files would be taken for this one's; with numbers by chance in both they are in step with its
// calls alone.
func (x *Experiment) odd(i, batch int) int {
	if i == 0 || !slices.ContainsFunc(x.finder.Resources(), func(r *finding.Resource) bool { return r.Kind == ledger.File }) {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprint(h, os.Getpid(), x.Now().UnixNano())
	return 1 + int(h.Sum64()%uint64(max(batch, minOdd)))
}

// minOdd is of how many numbers odd takes one at least.
const minOdd = 4

func (x *Experiment) runBatch(n int) {
	end := x.countMapped()
	x.call(n)
	end()
	x.words.Batches = append(x.words.Batches, n)
}

// recordBatch runs a batch with the memory profiler recording each allocation, so that it can be
// said where what grows is allocated. It is for a batch after which a leak is as good as certain:
// op takes 5 to 40 times as long. Heap profiles of this process show what the batch leaves as many
// times as large as one sample in MemProfileRate bytes stands for, so that the profile of before
// the batch is the one to keep.
//
// It is a batch like others where the profiler is off, or records everything already, and where go
// test is to write a memory profile in the end, which would be wrong by these.
func (x *Experiment) recordBatch(n int) {
	if runtime.MemProfileRate > 1 && !x.Env.MemProfile {
		x.words.Recorded = x.past.Last()
		defer memprofile.SetRate(1)()
	}
	x.runBatch(n)
}

func (x *Experiment) call(n int) {
	for range n {
		if x.failed || x.late {
			return
		}
		if !x.Time.Allows(x.slowestCall + x.slowestSnapshot + x.slowestSnapshot/2) {
			x.late = true
			return
		}
		start := x.Now()
		x.Op()
		took := x.Now().Sub(start)
		x.slowestCall, x.spent = max(x.slowestCall, took), x.spent+took
		x.calls++
		if x.passed != nil {
			x.passed()
		}
		x.failed = x.fails()
	}
}

// Memory that is mapped without a file is known as a difference: all that there is, without the Go
// runtime's. Between two snapshots other things move it, too: what a scan has mapped is given back
// late, and a sanitizer (-race, -asan, -msan) maps more as the program runs. One such fall hides
// the growth of a batch. So it is also measured from the first call of a batch to the last.

// countMapped begins to measure what is mapped, and returns what ends it.
func (x *Experiment) countMapped() (end func()) {
	if x.Resources == nil {
		return func() {}
	}
	before, err := ledger.AnonymousBytes()
	return func() {
		if after, failed := ledger.AnonymousBytes(); err == nil && failed == nil {
			x.mapped += after - before
		}
	}
}
