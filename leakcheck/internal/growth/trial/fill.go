package trial

import (
	"slices"
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
)

// Elements that are appended to a slice within its capacity are nothing new in the process, if they
// have no pointers, or pointers to existing objects. Snapshots tell how much of an array is in use.
// The next batch has as many calls as fill these slices, if that takes little. A leak then goes on
// to grow, in memory; a slice that the program empties when it is full does not. If so many calls
// take too long, the log names the slices that were not judged.

const (
	// A first batch that fills slices takes fillTime at most, and the arrays of these slices have
	// at most fillBytes; each batch after it may take twice as much. By the last batch a leak has
	// taken FillAgain times as much.
	fillTime  = 250 * time.Millisecond
	fillBytes = 1 << 20
	FillAgain = 64
	// With Iterations the batch that fills slices has no more calls than the fourth batch would
	// have, which has fillMore times those of the first, or twice its regular number of calls.
	fillMore = 1 << series.Intervals
)

// slicesInUse returns the slices that calls have made longer. After one batch these are only the
// slices that each call made longer by the same amount, since by chance more of a slice may be in
// use at one snapshot than at another, and those that more batches made longer before the trial
// began anew. others reports whether one more batch may confirm further slices, given the calls so
// far.
func (t *Trial) slicesInUse(calls int64) (certain []*finding.Longer, others bool) {
	for _, l := range t.Longer() {
		switch {
		case l.Exact || len(t.Snapshots) > 2 || slices.Contains(t.filled, l.Path):
			certain = append(certain, l)
		case !l.Queue || l.HasRoomFor(calls):
			others = true
		}
	}
	return certain, others
}

// fill returns how many calls in the i-th batch, from 0 on, fill the slices that calls have made
// longer by the last snapshot. It returns 0 if there are none, or if filling them would take too
// much for a batch of this size.
func (t *Trial) fill(i, batch int, m *Means) (calls int) {
	bytes := int64(0)
	found, _ := t.slicesInUse(m.Calls)
	for _, s := range found {
		if s.Queue {
			return 0 // op may wait for ever if a channel is full
		}
		calls, bytes = max(calls, s.Fill()), max(bytes, s.Bytes)
	}
	took := time.Duration(calls) * m.Median()
	if took <= 0 || took > fillTime<<i || bytes > fillBytes<<i || !m.allows(FillAgain>>i*time.Duration(calls)*m.Usual()) {
		return 0
	}
	if t.Req.Iterations > 0 && calls > max(2, fillMore>>i)*batch {
		return 0
	}
	return calls
}

// beginsFull has the trial begin anew if the next batch can fill slices that calls have made
// longer. It returns false if there is no such slice, or no time.
func (t *Trial) beginsFull(m *Means) bool {
	n := t.fill(0, t.first, m)
	if n == 0 || !m.hasTimeFor(max(n, int(m.Calls))) {
		return false
	}
	found, _ := t.slicesInUse(m.Calls)
	t.filled = slices.Clip(t.filled)
	for _, s := range found {
		t.filled = append(t.filled, s.Path)
	}
	t.beginAt(len(t.Snapshots) - 1)
	t.first = max(t.first, n)
	t.restarts++
	return true
}

// UnjudgedSlices returns a note on each slice that calls have made longer, for a pass.
func (t *Trial) UnjudgedSlices(calls int64) (notes []string) {
	found, _ := t.slicesInUse(calls)
	for _, s := range found {
		notes = append(notes, wording.UnjudgedSlice(s))
	}
	return notes
}
