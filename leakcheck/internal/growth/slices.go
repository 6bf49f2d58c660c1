package growth

import (
	"time"

	"github.com/leakgate/leakgate/internal/engine/proof"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// What is appended to a slice that has room for it is nothing new in the process: elements without
// pointers, or with pointers to what was there. Snapshots tell how much of an array is in use. A proof
// does without them, so it is watched meanwhile whether calls make slices longer, and if they seem to,
// snapshots follow. The next batch of the experiment then has as many calls as fill these slices, if that
// takes little: a leak goes on to grow, in memory, and what the program empties when it is full does not.
// Where so many calls take too long, the log names what was not judged.

const (
	// A first batch that fills slices takes so long at most, and these have arrays of so many bytes; each
	// batch after it twice as much. By the last batch a leak has taken so many times as much.
	fillTime  = 250 * time.Millisecond
	fillBytes = 1 << 20
	fillAgain = 64
	// With Iterations the batch that fills slices has no more calls than the fourth would have, which
	// has so many times those of the first, or twice the calls that it would have.
	fillMore = 1 << series.Intervals
)

// lengths are those of the slices at some time.
type lengths struct {
	of    *proof.Slices // nil: they are not known
	calls int64         // by then
}

// watchSlices remembers how long slices are.
func (x *Experiment) watchSlices() *lengths {
	if x.Watchers.Slices == nil {
		return &lengths{}
	}
	ctx, cancel := x.Time.Context()
	defer cancel()
	var log observe.Logger
	of, _ := x.Watchers.Slices(ctx, log.Log) // a snapshot has the same trouble, and says so
	x.Logs = append(x.Logs, log.Lines()...)
	return &lengths{of, x.calls}
}

// gotLonger reports whether each call by now seems to have made some slice longer, or that is not
// known; and how many bytes the objects have, if that is too much to look for slices in them. It
// forgets the lengths, which are garbage then, and nothing new in the process.
func (l *lengths) gotLonger(calls int64) (longer bool, unwatched int64) {
	of := l.of
	if l.of = nil; of == nil || calls == l.calls {
		return true, 0
	}
	longer, err := of.GotLonger(int(calls - l.calls))
	return longer || err != nil, of.Unwatched()
}

// slicesInUse returns the slices that calls have made longer: after one batch each call by as much, since
// more may be in use of a slice at one snapshot than at another by chance. It also reports whether one
// more batch may tell of others.
func (x *Experiment) slicesInUse() (certain []*finding.Longer, others bool) {
	for _, l := range x.finder.Longer() {
		if l.Exact || len(x.past.Snapshots) > 2 {
			certain = append(certain, l)
		} else {
			others = true
		}
	}
	return certain, others
}

// fill returns how many calls in the i-th batch, from 0 on, fill the slices that calls have made longer
// by the last snapshot; 0 where there are none, or that would take too much for a batch of so many.
func (x *Experiment) fill(i, batch int) (calls int) {
	bytes := int64(0)
	found, _ := x.slicesInUse()
	for _, s := range found {
		calls, bytes = max(calls, s.Fill()), max(bytes, s.Bytes)
	}
	// The slowest call may have been held up, or have moved an array. In a bubble of testing/synctest
	// no time passes.
	took := x.spent - x.slowestCall
	if took <= 0 || bytes > fillBytes<<i || x.Req.Iterations > 0 && calls > max(2, fillMore>>i)*batch {
		return 0
	}
	took = time.Duration(float64(took) * float64(calls) / float64(x.calls))
	if took > fillTime<<i || !x.Time.Allows(fillAgain>>i*took) {
		return 0
	}
	return calls
}

// beginsFull has the experiment begin anew where nothing has grown in memory, but the next batch can
// fill slices that calls have made longer. It returns that batch's size, 0 if there is no such slice, or
// no time.
func (x *Experiment) beginsFull(batch int) int {
	n := x.fill(0, batch)
	if n == 0 || !x.hasTimeFor(max(n, int(x.calls))) {
		return 0
	}
	x.past.BeginAt(len(x.past.Snapshots) - 1)
	x.finder.Holders = nil
	return n
}

// unjudgedSlices are notes of slices that calls have made longer, though nothing is a leak.
func (x *Experiment) unjudgedSlices() (notes []string) {
	found, _ := x.slicesInUse()
	for _, s := range found {
		notes = append(notes, wording.UnjudgedSlice(s))
	}
	return notes
}
