package proof

import (
	"cmp"
	"context"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/liveread"
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/realtime"
)

// A Watch records which heap objects, map entries, goroutines and timers existed when it began.
// Later it counts the new ones, without a snapshot. It reads the runtime's records in place while
// the program runs. It is for one goroutine at a time, and holds memory outside of the Go heap
// until Close: about a bit for each object.
type Watch struct {
	of     *liveread.Watch
	failed error // first error of note
}

// Newcomers is what a Watch counts.
type Newcomers = liveread.Newcomers

// StartWatch collects garbage once and begins to watch. Errors are of type *snapshot.Unavailable.
func StartWatch(ctx context.Context, logf func(string, ...any)) (_ *Watch, err error) {
	defer snapshot.Turn()()
	defer snapshot.Guard(&err)()
	layout, err := openLayout(ctx, logf)
	if err != nil {
		return nil, err
	}
	metrics.Read(marked[:]) // the first use of package metrics allocates
	for range watchTries {
		w := &Watch{of: liveread.New(layout)}
		if err = snapshot.CollectNow(ctx); err == nil {
			err = w.of.Begin()
		}
		if err == nil {
			return w, nil
		}
		w.Close()
	}
	return nil, watchError(err)
}

// watchTries bounds how often a watch is made anew, since other goroutines made more spans during
// the collection than it has room for.
const watchTries = 3

// openLayout returns the layout of the runtime's records in this program.
func openLayout(ctx context.Context, logf func(string, ...any)) (*liveread.Layout, error) {
	if snapshot.Padded {
		return nil, snapshot.ErrPadded()
	}
	if err := snapshot.CheckSettings(); err != nil {
		return nil, err
	}
	index, err := snapshot.OpenIndex(ctx, logf)
	if err != nil {
		return nil, err
	}
	return layoutOf(index)
}

// layoutOf returns the layout of the runtime's records in the program of an index.
func layoutOf(index *debuginfo.Index) (*liveread.Layout, error) {
	if known.index == index {
		return known.layout, nil
	}
	bias, err := snapshot.LoadBias(index)
	if err != nil {
		return nil, err
	}
	layout, err := liveread.NewLayout(index, bias)
	if err != nil {
		return nil, watchError(err)
	}
	known.index, known.layout = index, layout
	return layout, nil
}

// known caches the layout that was looked up last: a lookup takes half a millisecond. Captures
// take turns.
var known struct {
	index  *debuginfo.Index
	layout *liveread.Layout
}

// A Timer is one that is set.
type Timer struct {
	Address uint64
	In      time.Duration // until it fires, 0 if it is due
	Repeats bool
}

// EachTimer calls visit for each timer of this process that is set, also for those of goroutines
// that sleep; for none if that is unknown. It leaves out those in a bubble of testing/synctest. It
// reads the runtime's records in place.
func EachTimer(ctx context.Context, visit func(Timer)) {
	defer snapshot.Turn()()
	layout, err := openLayout(ctx, func(string, ...any) {})
	if err != nil {
		return
	}
	defer snapshot.Guard(&err)()
	now := realtime.Clock()
	layout.EachDue(func(timer uint64, when int64, repeats bool) {
		visit(Timer{timer, max(0, time.Duration(when)-now), repeats})
	})
}

// Passed takes a garbage collection into account that the program made by itself. Call it after
// everything that may allocate much: if two collections have ended since the last call, the watch
// cannot tell anything any more. Passed takes nanoseconds; after a collection it takes as long as
// it takes to read a bit for each object.
func (w *Watch) Passed() {
	if w.of.Collected() {
		w.failed = cmp.Or(w.failed, w.note())
	}
}

func (w *Watch) note() (err error) {
	defer snapshot.Guard(&err)()
	w.of.Passed()
	return nil
}

// Newcomers collects garbage once and returns what is new. Objects in a sync.Pool, objects with a
// finalizer, and objects of a goroutine that is about to end stay new for another collection or
// two: another call counts anew. Errors are of type *snapshot.Unavailable.
func (w *Watch) Newcomers(ctx context.Context) (Newcomers, error) {
	defer snapshot.Turn()()
	for range maxYields {
		if !snapshot.Marking() {
			break
		}
		runtime.Gosched() // a collection that is under way would end unnoticed
	}
	w.Passed()
	if w.failed != nil {
		return Newcomers{}, w.failed
	}
	w.of.FillTiny()
	// From here on, nothing may be allocated that the collection would find alive.
	if err := snapshot.CollectNow(ctx); err != nil {
		return Newcomers{}, err
	}
	return w.count()
}

func (w *Watch) count() (found Newcomers, err error) {
	defer snapshot.Guard(&err)()
	found, alive, err := w.of.Count()
	if err != nil {
		return Newcomers{}, watchError(err)
	}
	// The collector's own figure for the same collection, which counts objects with finalizers
	// twice (go1.26 and go1.27 runtime/mgcmark.go, markrootSpans and scanObject). It verifies that
	// the records read are spans.
	metrics.Read(marked[:])
	v := marked[0].Value
	if v.Kind() != metrics.KindUint64 || int64(v.Uint64()) < alive || int64(v.Uint64())/8*7 > alive {
		return Newcomers{}, &snapshot.Unavailable{Cause: "what was counted is not what the garbage collector marked", Remedy: snapshot.RemedyReport}
	}
	return found, nil
}

// Close releases the watch's memory. It may be called more than once.
func (w *Watch) Close() { w.of.Close() }

// metrics.Read writes to marked in place, so that it allocates nothing. Captures take turns.
var marked = [...]metrics.Sample{{Name: "/gc/heap/live:bytes"}}

// maxYields bounds the wait for a collection that is under way. The bound is no time, since the
// clock stands still in a bubble of testing/synctest.
const maxYields = 100_000

func watchError(err error) error {
	return &snapshot.Unavailable{Cause: "what is new in the heap cannot be counted", Err: err}
}
