package growth

import (
	"time"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
)

// What a program keeps for some time, as hits of the last ten seconds, grows until that time is
// over. Its entries have times. So has much that is never taken away. What tells them apart is
// time: where such entries grow, op is not called for a while, and then half as often as so far. By
// then an array whose first elements were cut off has been replaced, since it has a quarter more
// room at most (go1.26 runtime/slice.go, nextslicecap).

// laterTime bounds the duration of the batch after the wait. Whoever takes away what is over looks
// for it with each call, or each so many.
const laterTime = 5 * time.Second

// outlast returns the outcome after a wait, if what grows has recent times; nil if op failed the
// test. The outcome o is that before.
func (x *Experiment) outlast(o *assertion.Outcome) *assertion.Outcome {
	if o.Verdict != verdict.Fail || o.Misuse || !x.words.MayExpire(x.finder.Growth()) {
		return o
	}
	n := int(x.op.calls / 2)
	if x.lastCall*time.Duration(n) > laterTime {
		n = int(max(1, laterTime/max(1, x.lastCall)))
	}
	if !x.Time.Allows(wording.Wait+2*x.slowestSnapshot+2*x.op.slowest+time.Duration(n)*2*x.op.usual()) || x.limits.room(x.op.calls) < n {
		return o
	}
	x.Sleep(wording.Wait)
	x.runBatch(n)
	if x.op.failed {
		return nil
	}
	if x.op.late || x.snapshot(observe.Needs{}) != nil {
		x.op.late = false
		return o
	}
	last := len(x.past.Snapshots) - 1
	later := x.past.Snapshots[last]
	if x.past.Snapshots = x.past.Snapshots[:last]; !later.IsAsGoodAs(x.past.First()) {
		return o
	}
	x.past.Later = later
	o, _ = x.conclude()
	if o.Verdict != verdict.Fail || o.Misuse {
		return o
	}
	for _, l := range x.finder.Growth().Leaks {
		if s := x.finder.InUseOf(l); !s.Thinned() {
			return o
		}
	}
	return x.cutShort(&refscan.UnavailableError{
		Cause:  "part of what grows was gone " + wording.Wait.String() + " later: it may be kept for some time only",
		Remedy: "let the test shorten that time, or fill it before the first snapshot (Warmup)",
	})
}
