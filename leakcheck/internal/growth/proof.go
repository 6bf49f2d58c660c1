package growth

import (
	"context"

	"github.com/leakgate/leakgate/internal/engine/proof"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// A proof that nothing grows needs no snapshot. After the warm-up the program is watched through
// one batch of calls: which heap objects, map entries, goroutines and timers are there after it
// that were not there before (proof.Watch)? What the full experiment would find to grow in such a
// batch is made of these:
//
//   - The objects of a path grow by no more than there are new objects. Each that was there at the
//     second snapshot and not at the first is new, wherever it hangs: nothing else that goes, shrinks
//     or is freed makes up for it. Values under 16 bytes share blocks: each new block counts as many
//     as fit.
//   - The bytes of a path grow by no more than those of new objects, since an object keeps its size.
//     One new object that takes the place of one of its size class that is gone, where nothing else
//     came or went, adds none.
//   - The entries of a map that was there are counted in its header, or in its tables where the header
//     lies on a stack; those of a new one are at least 8 to an object that is new, or in its table.
//   - Descriptors and child processes are told apart by their numbers and what they are; of threads,
//     mappings and stacks there are no more than before, but for so few that no leak can be among them.
//     Where any file was made or removed in the folder for temporary files, nothing is proved.
//   - Of what C code has, no more blocks of any size, and no more bytes, are there than the smallest leak
//     would leave.
//   - Goroutines are told apart by their numbers, timers by their addresses, one that was stopped and
//     is set again included.
//
// A leak has to grow in each batch, so one in which none can have grown is enough. What is allowed
// is less than in the full experiment: with k new objects in n calls, what leaves one behind every
// few calls leaves less than k + 1, and (k + 1) / n has to be below the rate of the smallest leak.
//
// Elements that are added to a slice which has room for them are nothing new: see slices.go.
//
// What this does not see are objects that only change places: taken from a free list that was full
// before, and never given back. Nothing grows while it lasts. Full asks for the snapshots that see
// one list shrink and another one grow.
//
// What a collection leaves is more than what will stay: what a sync.Pool keeps, finalizers, ending
// goroutines. So any count is an upper bound, and the first that is small enough ends the proof. If
// none is, the full experiment follows. Its first batch has as many calls as there were until then,
// for what is allocated in steps each twice the one before to grow in each batch.

const (
	minProofBatch = 50  // where a batch has fewer calls, they cost more than the scans
	minProofCalls = 100 // with fewer, no new object at all could be a leak of the smallest rate
	valuesInBlock = 16  // of one byte
)

// provable reports whether a proof is possible and wanted. It knows neither where objects hang nor
// goroutines' functions, and so none that an option leaves out.
func (x *Experiment) provable(batch int) bool {
	return x.Watchers.Objects != nil && batch >= minProofBatch && !x.WantsFull() &&
		x.Req.Iterations == 0 && len(x.Req.Scope) == 0 && len(x.Req.Ignores) == 0
}

// counted is what there is to say after calls without snapshots.
type counted struct {
	nothingNew bool  // nothing that is new can have grown
	longer     bool  // slices seem to have, or it is not known
	unwatched  int64 // bytes of objects in which no slices were looked for
}

// prove calls op and finds out whether anything can have grown meanwhile.
func (x *Experiment) prove(calls int) (p counted) {
	ctx, cancel := x.Time.Context()
	defer cancel()
	var resources *ledger.Glance
	if x.Resources != nil {
		var err error
		if resources, err = ledger.TakeGlance(); err != nil {
			return p
		}
	}
	native, knows := x.nativeBefore()
	var log observe.Logger
	w, err := x.Watchers.Objects(ctx, log.Log)
	x.Logs = append(x.Logs, log.Lines()...)
	if err != nil {
		return p // a snapshot has the same trouble, or does without
	}
	defer w.Close()
	if resources != nil && resources.Renew() != nil { // to link the test anew had made files
		return p
	}
	lengths := x.watchSlices()
	w.Passed() // a collection that this has taken
	x.passed = w.Passed
	mapped, end := x.mapped, x.countMapped()
	x.call(calls)
	end()
	x.passed = nil
	if x.failed || x.late || x.mapped-mapped >= int64(series.MinMappedPerCall*calls) {
		return p
	}
	p.longer, p.unwatched = lengths.gotLonger(x.calls)
	if !x.settlesQuiet(ctx, w, calls) {
		return p
	}
	w.Close() // what it maps would count
	p.nothingNew = (resources == nil || x.provesResources(resources, calls)) && (!knows || x.provesNative(native, calls))
	return p
}

// settlesQuiet counts after one collection after another, until few enough things are new or their
// number stays.
func (x *Experiment) settlesQuiet(ctx context.Context, w *proof.Watch, calls int) bool {
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
		x.awaitEnds(i)
	}
	return false
}

// isQuiet reports whether so few things are new after so many calls that none can be a leak.
func isQuiet(n proof.Newcomers, calls int) bool {
	most := maxNew(series.MinGrownPerCall, calls)
	objects := n.Objects + (valuesInBlock-1)*n.TinyBlocks
	if objects > most || n.MapEntries > most || n.Goroutines > most || n.Timers > most {
		return false
	}
	swapped := n.Objects == 1 && n.Gone == 1 && n.Replaced == 1
	return swapped || float64(n.Bytes) < series.MinBytesPerCall*float64(calls)
}

// proved is the outcome where nothing can have grown.
func (x *Experiment) proved(p counted) *assertion.Outcome {
	o := &assertion.Outcome{Verdict: verdict.Pass, Method: verdict.ByCounters, Notes: x.Logs}
	if p.unwatched > 0 {
		o.Notes = append(o.Notes, wording.UnwatchedSlices(p.unwatched))
	}
	return o
}
