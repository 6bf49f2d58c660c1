package growth

import (
	"context"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/trial"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// A proof that nothing grows needs no snapshot. After the warm-up the experiment watches the
// program through one batch of calls. Which heap objects, map entries, goroutines and timers exist
// after the batch that did not exist before (proof.Watch)? All growth that the full experiment
// would find in such a batch consists of these:
//
//   - The objects of a path grow by no more than there are new objects. Each object that exists at
//     the second snapshot and not at the first is new, wherever it hangs. Nothing that is freed or
//     shrinks makes up for it. Values under 16 bytes share blocks: each new block counts as many as
//     fit.
//   - The bytes of a path grow by no more than those of new objects, since an object keeps its
//     size. A new object that replaces a freed one of its size class adds no bytes, if nothing else
//     came or went.
//   - The entries of an existing map are counted in its header, or in its tables if the header lies
//     on a stack. Those of a new map are at least 8 to an object that is new, or in its table.
//   - Descriptors and child processes are identified by their numbers and what they are. Threads,
//     mappings and stacks may be more than before only by so few that no leak can be among them. If
//     any file was made or removed in the folder for temporary files, nothing is proved.
//   - C code has no more new blocks of any size, and no more new bytes, than the smallest leak
//     would leave.
//   - Goroutines are identified by their numbers, and timers by their addresses. A timer that was
//     stopped and is set again counts, too. The stack of an old goroutine may get deeper by less
//     than a kilobyte, and by less than a small frame for each call.
//
// A leak has to grow in each batch, so one batch in which none can have grown is enough. The proof
// allows less than the full experiment: with k new objects in n calls, an op that leaves one behind
// every few calls leaves less than k + 1, and (k + 1) / n has to be below the rate of the smallest
// leak.
//
// Elements that are added to a slice with spare capacity are no new objects: see slices.go.
//
// The proof does not see objects that only change places: taken from a free list that was full
// before, and never given back. Nothing grows while the list lasts. Full asks for the snapshots
// that see one list shrink and another one grow.
//
// A collection leaves more than will stay: the contents of a sync.Pool, objects with finalizers,
// ending goroutines. So any count is an upper bound, and the first count that is small enough ends
// the proof. If none is, the full experiment follows. Its first batch has as many calls as all
// calls until then, so that memory allocated in steps, each twice as large as the one before, grows
// in each batch.

const (
	minProofBatch = 50  // in smaller batches the calls cost more than the scans
	minProofCalls = 100 // with fewer, a leak of the smallest rate may leave no new object
	valuesInBlock = 16  // of one byte
)

// A prover calls op without snapshots.
type prover struct {
	a      *assertion.Assertion
	source *Source
	run    *calls.Runner
}

// provable reports whether a proof is possible and wanted. A proof does not know the paths of
// objects or the functions of goroutines, and so cannot leave out those that an option excludes. It
// does not see the use of memory that calls have mapped.
func (p *prover) provable(batch int) bool {
	return p.source.Objects != nil && batch >= minProofBatch && !p.a.WantsFull() &&
		p.a.Req.Iterations == 0 && len(p.a.Req.Scope) == 0 && len(p.a.Req.Ignores) == 0 && !trial.HasChunk(p.run.Mapped())
}

// proofResult is the result of calls without snapshots.
type proofResult struct {
	nothingNew bool   // so little is new that no leak can be among it
	longer     bool   // slices seem to have grown, or that is unknown
	unwatched  int64  // bytes of objects in which no slices were looked for
	full       string // a note on a channel that is about to be full
}

// prove calls op and finds out whether anything can have grown meanwhile.
func (p *prover) prove(calls int) (r proofResult) {
	ctx, cancel := p.a.Time.Context()
	defer cancel()
	var resources *ledger.Glance
	if p.a.Resources != nil {
		var err error
		if resources, err = ledger.TakeGlance(p.a.Test); err != nil {
			return r
		}
	}
	native := takeNative(p.a)
	var log observe.Logger
	w, err := p.source.Objects(ctx, log.Log)
	p.a.Logs = append(p.a.Logs, log.Lines()...)
	if err != nil {
		return r // a snapshot fails for the same reason, or does without
	}
	defer w.Close()
	lengths := watchSlices(p.a, p.source)
	if lengths != nil {
		r.unwatched = lengths.Unwatched()
	}
	w.Passed() // watchSlices may have run a collection
	mapped, end, before := p.run.Mapped(), p.run.Measure(), p.run.Calls
	// Linking the test again has created files. To read the mappings takes more stack than all else
	// here does, and has been done by now, as it will have been when resources are read again.
	if resources != nil && resources.Renew() != nil {
		return r
	}
	r.longer, r.full = callWatched(p.run, lengths, calls, w.Passed)
	calls = int(p.run.Calls - before)
	end()
	if p.run.Ended() {
		return r
	}
	if p.run.Mapped()-mapped >= int64(series.MinMappedPerCall*calls) {
		return r
	}
	if !p.settlesQuiet(ctx, w, calls) {
		return r
	}
	w.Close() // memory that the watch maps would count
	r.nothingNew = (resources == nil || provesResources(ctx, p.a, resources, calls)) && (native == nil || provesNative(p.a, native, calls))
	return r
}

// settlesQuiet counts new things after one collection after another, and reports whether they
// become few enough. It gives up when their number does not fall.
func (p *prover) settlesQuiet(ctx context.Context, w *proof.Watch, calls int) bool {
	var before proof.Newcomers
	for i := range maxCounts {
		now, err := w.Newcomers(ctx)
		switch {
		case err != nil:
			return false
		case isQuiet(now, calls):
			return true
		case i > 0 && now.Objects >= before.Objects && now.Goroutines >= before.Goroutines && now.Timers >= before.Timers:
			return false
		}
		before = now
		awaitEnds(p.a, i)
	}
	return false
}

// swappedBytes bounds the size of an object that may replace another of its size. In a larger one a
// string or slice that each call copies to a new array can get longer by MinBytesPerCall for
// minProofCalls calls without another size of the object (go1.26 and go1.27
// internal/runtime/gc/sizeclasses.go: from 1,024 bytes on, sizes are 128 bytes apart and more).
const swappedBytes = 1 << 10

// deeperBytes bounds by how much stacks may get deeper in a batch, however many calls it has: a
// frame for each call may take 8 bytes.
const deeperBytes = 1 << 10

// isQuiet reports whether so few things are new after the calls that none of them can be a leak.
func isQuiet(n proof.Newcomers, calls int) bool {
	most := maxNew(series.MinGrownPerCall, calls)
	objects := n.Objects + (valuesInBlock-1)*n.TinyBlocks
	if objects > most || n.MapEntries > most || n.Goroutines > most || n.Timers > most || n.Deeper >= min(deeperBytes, int64(series.MinMappedPerCall*calls)) {
		return false
	}
	swapped := n.Objects == 1 && n.Gone == 1 && n.Replaced == 1 && n.Bytes < swappedBytes
	return swapped || float64(n.Bytes) < series.MinBytesPerCall*float64(calls)
}

// proved is the outcome where nothing can have grown.
func (p *prover) proved(r proofResult) *assertion.Outcome {
	o := &assertion.Outcome{Verdict: verdict.Pass, Method: verdict.ByCounters, Notes: p.a.Logs}
	if r.unwatched > 0 {
		o.Notes = append(o.Notes, wording.UnwatchedSlices(r.unwatched))
	}
	if r.full != "" {
		o.Notes = append(o.Notes, r.full)
	}
	return o
}
