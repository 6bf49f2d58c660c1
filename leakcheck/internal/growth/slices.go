package growth

import (
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// Elements that are appended to a slice within its capacity are nothing new in the process, if they
// have no pointers, or pointers to existing objects. Snapshots tell how much of an array is in use.
// A proof does without snapshots, so it watches whether calls make slices longer. If they seem to,
// snapshots follow. The next batch of the experiment then has as many calls as fill these slices,
// if that takes little. A leak then goes on to grow, in memory; a slice that the program empties
// when it is full does not. If so many calls take too long, the log names the slices that were not
// judged.

const (
	// A first batch that fills slices takes fillTime at most, and the arrays of these slices have
	// at most fillBytes; each batch after it may take twice as much. By the last batch a leak has
	// taken fillAgain times as much.
	fillTime  = 250 * time.Millisecond
	fillBytes = 1 << 20
	fillAgain = 64
	// With Iterations the batch that fills slices has no more calls than the fourth batch would
	// have, which has fillMore times those of the first, or twice its regular number of calls.
	fillMore = 1 << series.Intervals
)

// moreWatched is how many batches more are called to see whether slices that have grown by numbers
// of elements that differ from call to call go on. The length of a buffer that is used again by
// each call goes up and down.
const moreWatched = 3

// watchSlices records the lengths of slices; nil if that fails.
func (x *Experiment) watchSlices() *proof.Slices {
	if x.watchers.Slices == nil {
		return nil
	}
	ctx, cancel := x.Time.Context()
	defer cancel()
	var log observe.Logger
	of, _ := x.watchers.Slices(ctx, log.Log) // a snapshot fails for the same reason, and says so
	x.Logs = append(x.Logs, log.Lines()...)
	return of
}

// callWatched calls op so often, and reports whether the calls seem to make slices longer whose
// lengths are recorded in of: each call by the same number of elements, or, in moreWatched batches
// more of as many calls, all calls together by about the same number each time. It returns true if
// that is unknown. What it knows of slices is garbage when it returns, and nothing new. Channels to
// which each call sends the same number of elements count like slices. If such a channel has little
// room, full is a note on that, and longer is false: further calls might fill the channel, and wait
// for somebody to receive.
func (x *Experiment) callWatched(of *proof.Slices, calls int, passed func()) (longer bool, full string) {
	x.call(calls, passed)
	x.awaitTimers(calls)
	if of == nil || x.op.ended() {
		return true, ""
	}
	perCall, room, err := of.Queue(calls)
	switch {
	case err != nil || perCall > 0 && room >= fillAgain*perCall*calls:
		return true, ""
	case perCall > 0:
		return false, wording.UnjudgedQueue(perCall, room)
	}
	each, some, err := of.GotLonger(calls)
	for i := 0; i < moreWatched && some && !each && err == nil; i++ {
		if x.call(calls, passed); x.op.ended() {
			return true, ""
		}
		some, err = of.WentOn()
	}
	return some || err != nil, ""
}

// slicesInUse returns the slices that calls have made longer. After one batch these are only the
// slices that each call made longer by the same amount, since by chance more of a slice may be in
// use at one snapshot than at another, and those that more batches made longer before the
// experiment began anew. others reports whether one more batch may confirm further slices.
func (x *Experiment) slicesInUse() (certain []*finding.Longer, others bool) {
	for _, l := range x.finder.Longer() {
		switch {
		case l.Exact || len(x.past.Snapshots) > 2 || x.longerBefore[l.Path]:
			certain = append(certain, l)
		case !l.Queue || l.HasRoomFor(x.op.calls):
			others = true
		}
	}
	return certain, others
}

// fill returns how many calls in the i-th batch, from 0 on, fill the slices that calls have made
// longer by the last snapshot. It returns 0 if there are none, or if filling them would take too
// much for a batch of this size.
func (x *Experiment) fill(i, batch int) (calls int) {
	bytes := int64(0)
	found, _ := x.slicesInUse()
	for _, s := range found {
		if s.Queue {
			return 0 // op may wait for ever if a channel is full
		}
		calls, bytes = max(calls, s.Fill()), max(bytes, s.Bytes)
	}
	took := time.Duration(calls) * x.op.median()
	if took <= 0 || took > fillTime<<i || bytes > fillBytes<<i || !x.Time.Allows(fillAgain>>i*time.Duration(calls)*x.op.usual()) {
		return 0
	}
	if x.Req.Iterations > 0 && calls > max(2, fillMore>>i)*batch {
		return 0
	}
	return calls
}

// beginsFull lets the experiment begin anew if nothing has grown in memory, but the next batch can
// fill slices that calls have made longer. It returns the size of that batch, 0 if there is no such
// slice, or no time.
func (x *Experiment) beginsFull(batch int) int {
	n := x.fill(0, batch)
	if n == 0 || !x.hasTimeFor(max(n, int(x.op.calls))) {
		return 0
	}
	found, _ := x.slicesInUse()
	for _, s := range found {
		x.longerBefore[s.Path] = true
	}
	x.past.BeginAt(len(x.past.Snapshots) - 1)
	x.finder.Holders = nil
	return n
}

// unjudgedSlices returns a note on each slice that calls have made longer, for a pass.
func (x *Experiment) unjudgedSlices() (notes []string) {
	found, _ := x.slicesInUse()
	for _, s := range found {
		notes = append(notes, wording.UnjudgedSlice(s))
	}
	return notes
}
