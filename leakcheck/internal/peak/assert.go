package peak

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/engine/runtime/gcwatch"
	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// op is called until manyLooks mark phases have ended while it ran, or enoughLooks have ended and
// enoughTime has passed, or mostTime has passed.
const (
	manyLooks, enoughLooks = 64, 8
	enoughTime, mostTime   = 500 * time.Millisecond, 2 * time.Second
)

// AssertPeak calls op, and fails the test if it adds more to the live heap than it may.
func AssertPeak(c *assertion.Checker, t environ.TestingT, at environ.Site, op func(), req *Request) bool {
	t.Helper()
	a := c.Begin(t, at, &request.Request{})
	x := &experiment{Assertion: a, op: calls.NewOp(op, a.FailsFromNow(), a.Now), req: req, counters: gcwatch.NewReader()}
	held := tree.HoldOp(op)
	o := x.judge()
	held.Release()
	if o == nil {
		t.Logf("leakcheck: what op adds to the live heap was not checked, because op failed the test")
		return false
	}
	a.Keep(o)
	return o.Report(t)
}

// An experiment calls op while a watcher reads the size of the live heap. Only the watcher uses the
// experiment while op runs.
type experiment struct {
	*assertion.Assertion
	op       *calls.Op
	req      *Request
	counters *gcwatch.Reader

	base     *refscan.Report // of the heap before the first call
	baseTook time.Duration
	// the memory profiler's records before the first call
	recorded recording
	before   int64 // live heap before the call, and before the first one
	first    int64

	calls     int
	took      time.Duration // of the last call
	looks     int           // mark phases that ended while op ran
	unread    int           // further mark phases, which another one followed before they were read
	most      int64         // most bytes alive beyond before, as far as certain or within the bound
	snapshots int
	doubts    doubts
	allocated int64 // most bytes that the whole process allocated in one call
	trouble   error // why the snapshot of a possible peak failed
	found     *peak
	gone      *peak // a peak whose snapshot came too late
}

// judge returns nil if op failed the test.
func (x *experiment) judge() *assertion.Outcome {
	if len(x.req.Problems) > 0 {
		return assertion.Misuse("%s", strings.Join(x.req.Problems, "\n    "))
	}
	if realtime.InBubble() {
		return x.unknown(assertion.ErrInBubble)
	}
	if x.op.Repeat(x.req.Warmup, nil); x.op.Failed() {
		return nil
	}
	if err := x.takeBase(); err != nil {
		return x.unknown(err)
	}
	defer watchClosely(x.req.Most, x.base.Totals.LiveBytes, x.Env.MemProfile)()
	for {
		err := x.call()
		switch {
		case x.op.Failed():
			return nil
		case x.found != nil && !x.mayShowAgain():
			return x.failure()
		case x.found != nil:
			if x.gone == nil {
				x.gone = x.found
			}
			x.found, x.snapshots = nil, 0
		case x.gone != nil && (err != nil || x.calls >= x.gone.call+patience):
			x.found = x.gone
			return x.failure()
		case x.gone != nil:
		case err != nil:
			return x.unknown(err)
		case x.enough() && x.doubts.areSettled(x):
			return x.conclude()
		case !x.Time.Allows(2 * (x.took + x.baseTook)):
			if x.looks == 0 {
				return x.unknown(x.Time.Spent(fmt.Sprintf("op was called %s, and no mark phase of the garbage collector ended while it ran", textfmt.CountNoun(int64(x.calls), "time")), nil))
			}
			return x.conclude()
		}
	}
}

// patience is how often op is called again to find out who holds a peak.
const patience = 8

// mayShowAgain reports whether op is to be called again, since the peak was gone before a snapshot
// could show who held it.
func (x *experiment) mayShowAgain() bool {
	return !x.found.held && x.found.eval != nil && (x.gone == nil || x.found.call < x.gone.call+patience) &&
		x.req.Iterations == 0 && x.took < enoughTime && x.Time.Allows(2*(x.took+4*x.baseTook))
}

// takeBase takes the snapshot before the first call of op.
func (x *experiment) takeBase() error {
	var obs *observe.Observation
	for try := 0; ; try++ {
		var err error
		if obs, err = x.ObserveInTime(observe.Needs{Heap: true, Profile: x.Env.KeepsFiles()}); err != nil {
			return err
		}
		if err = observe.Audit(obs.Report); err == nil {
			break
		}
		if try == len(assertion.RetryWaits) {
			return err
		}
		x.Sleep(assertion.RetryWaits[try])
	}
	x.baseTook = obs.Settle + obs.Scan
	x.Logs = append(x.Logs, obs.Logs...)
	x.base = obs.Report
	x.recorded = record()
	x.Req.Baseline = &request.Baseline{Forest: tree.GrowForest(obs.Report), Artifacts: obs.Artifacts(), Live: obs.Report.Totals.LiveBytes}
	return nil
}

// call calls op once while a watcher reads the size of the live heap.
func (x *experiment) call() error {
	ctx, cancel := x.Time.Context()
	defer cancel()
	for range 2 { // the second frees what the first left in pools
		if err := observe.Collect(ctx); err != nil {
			return x.inTime(ctx, err)
		}
	}
	alive, allocated := x.counters.Last()
	x.before = int64(alive.Live)
	if x.calls == 0 {
		x.first = x.before
	}
	times := x.doubts.times(x.took)
	x.calls++
	defer x.doubts.withFewCollections(x.before)()
	w := x.watch(ctx, times)
	defer w.end() // where op panics, or ends the test
	start := x.Now()
	called := x.op.Repeat(times, func() bool { return !w.looked.Load() })
	w.returned = realtime.Clock()
	w.opEnded.Store(true)
	took := x.Now().Sub(start)
	w.end()
	// The watcher uses the time and the number of the call before.
	x.took, x.calls = took/time.Duration(called), x.calls+called-1
	if x.op.Failed() || x.found != nil || w.err != nil {
		return x.inTime(ctx, w.err)
	}
	// What op leaves was alive while it ran, too. Besides, processors add what they have counted to
	// the totals only in a collection.
	if err := w.collect(); err != nil {
		return x.inTime(ctx, err)
	}
	_, now := x.counters.Last()
	if times == 1 {
		x.allocated = max(x.allocated, int64(now-allocated))
	}
	w.conclude()
	return nil
}

// inTime returns the error that the time is up if err comes from that, else err.
func (x *experiment) inTime(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return x.Time.Spent("op was called "+textfmt.CountNoun(int64(x.calls), "time"), err)
}

// enough reports whether op has been called often enough.
func (x *experiment) enough() bool {
	spent := time.Duration(x.calls) * x.took
	switch {
	case x.req.Iterations > 0:
		return x.calls >= x.req.Iterations
	case x.allocated <= x.req.Most && x.calls == 1:
		return true
	}
	return x.looks >= manyLooks || x.looks >= enoughLooks && spent >= enoughTime || spent >= mostTime || x.calls >= manyCalls
}

// manyCalls bounds the calls of an op so short that few mark phases end while it runs.
const manyCalls = 500

// conclude is the outcome where op was called often enough, and no peak found.
func (x *experiment) conclude() *assertion.Outcome {
	calls := textfmt.CountNoun(int64(x.calls), "call")
	proved := x.allocated <= x.req.Most // the process allocated no more than the bound in any call
	switch {
	case proved:
		x.most = x.allocated
	case x.trouble != nil:
		return x.unknown(x.trouble)
	case !x.doubts.areDispelled():
		return x.unknown(x.doubts.error())
	case x.looks == 0 && x.doubts.taken == 0:
		return x.unknown(&refscan.UnavailableError{
			Cause: fmt.Sprintf("no mark phase of the garbage collector ended while op ran: it took %s, in %s, and the process allocated %s in one of them, more than the bound",
				x.took.Round(time.Microsecond), calls, textfmt.ByteCount(x.allocated)),
			Remedy: "have op do more, such as the same thing a hundred times in a loop",
		})
	}
	notes := x.Logs
	if proved {
		notes = append(notes, "op adds no more than "+textfmt.ByteCount(x.allocated)+" to the live heap: that is all that the process allocated meanwhile")
	} else {
		notes = append(notes, fmt.Sprintf("op adds up to %s to the live heap, by %s in %s", textfmt.ByteCount(max(0, x.most)), x.lookedAt(), calls))
		notes = append(notes, x.doubts.notes()...)
	}
	return &assertion.Outcome{Verdict: verdict.Pass, Method: verdict.ByCounters, Notes: notes, Bounds: x.record(max(0, x.most), verdict.Pass)}
}

// lookedAt says how many mark phases ended while op ran.
func (x *experiment) lookedAt() string {
	s := textfmt.CountNoun(int64(x.looks), "mark phase")
	if x.unread > 0 {
		s += fmt.Sprintf(" (not counting %s that another one followed at once)", textfmt.Count(int64(x.unread)))
	}
	return s
}

func (x *experiment) record(bytes int64, v verdict.Verdict) []verdict.Bound {
	return []verdict.Bound{{
		Kind: verdict.Peak, Selector: "AssertPeak: " + x.req.shown(), MaxBytes: &x.req.Most, Bytes: bytes, Verdict: v,
		Growth: fmt.Sprintf("+%s alive while op ran, at most %s allowed", textfmt.ByteCount(bytes), textfmt.ByteCount(x.req.Most)),
	}}
}

func (x *experiment) unknown(err error) *assertion.Outcome {
	o := x.Unknown(err)
	o.Message = assertion.UnknownMessage(err, o.Failed(), "how much op adds to the live heap")
	return o
}
