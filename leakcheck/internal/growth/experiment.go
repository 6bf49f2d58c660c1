// Package growth calls an operation again and again, and finds what grows with the number of calls.
package growth

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/heldop"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

const (
	intervals = 3 // between the snapshots that every leak must show up in; one more confirms it

	// MaxBatch is how often op is called at most in the first batch, and batchTime how long that
	// may take if minBatch calls do not take longer.
	MaxBatch  = 250
	MinBatch  = 5
	batchTime = 25 * time.Millisecond
)

// An Experiment is one run of AssertNoGrowth.
type Experiment struct {
	*assertion.Assertion
	Op      func()
	Count   goroutineCounter
	Watch   watcher // nil: nothing is proved without snapshots
	calls   int64   // of op, up to now
	batches []int   // without the warm-up
	moments []*moment
	further []*moment // after further batches, see furtherBatches

	alsoHeldBy []observe.Place // what the next snapshot says who else holds

	open   int   // descriptors, before the first call
	mapped int64 // bytes, by calls in batches; see countMapped

	passed func() // called after each call of op, if it is not nil

	holders *nativeHolders // nil: native memory did not grow before the last batch
	native  *nativeCalls   // nil: nothing was to be found out of the calls that allocate it

	recorded *moment // before the batch of which each allocation was recorded; nil: there was none

	suspects []*leak // what had grown with each batch at some snapshot before the last

	fails  func() bool // whether op has failed the test by now
	failed bool        // it had after its last call, and is not called again
	late   bool        // there is no time for another call and a snapshot after it

	slowestCall, slowestLook time.Duration
}

// Judge runs batches until nothing is left that grows with each, or there have been enough of them.
// It returns nil if op failed the test.
func (x *Experiment) Judge() *assertion.Outcome {
	x.fails = x.FailsFromNow()
	if x.Resources != nil {
		x.open, _, _ = ledger.OpenDescriptors()
	}
	batch := x.warmUp()
	if x.failed {
		return nil
	}
	if !x.late && x.provable(batch) {
		calls := max(batch, minProofCalls)
		if x.prove(calls) {
			return x.proved()
		}
		if x.failed {
			return nil
		}
		batch = max(batch, min(int(x.calls), 2*calls))
	}
	if x.late {
		return x.outOfTime()
	}
	if err := x.look(); err != nil {
		return x.inconclusive(err)
	}
	batch = x.sparing(x.affordable(batch))
	for restarts := 0; ; {
		i := len(x.moments) - 1
		n := batch<<i + x.odd(i, batch)
		if i == intervals {
			x.Sleep(assertion.RetryWaits[0])
			x.noteBlocks()
			x.recordBatch(n)
		} else {
			x.runBatch(n)
		}
		if x.failed {
			return nil
		}
		if x.late {
			return x.outOfTime()
		}
		if err := x.look(); err != nil {
			return x.inconclusive(err)
		}
		o, grows := x.conclude()
		for ; !grows && restarts < maxRestarts && o.Verdict == verdict.Pass && x.recorded == nil && x.forgetFall(); restarts++ {
			if grows = len(x.moments) == 1; !grows { // with one there is nothing to tell by yet
				o, grows = x.conclude()
			}
		}
		switch f := x.lastFall(); {
		case !grows && o.Verdict == verdict.Pass && f != nil:
			o.Notes = append(o.Notes, f.note())
			return o
		case !grows:
			return o
		}
		if len(x.moments) > intervals+1 {
			break
		}
	}
	// What was about to end has had its last chance now.
	x.Pause(assertion.RetryWaits[1], assertion.MoreTimers(x.last().eval.Report, x.first().eval.Report), x.slowestLook+x.slowestLook/2)
	x.alsoHeldBy = x.growth().places()
	x.moments = x.moments[:len(x.moments)-1]
	if err := x.look(); err != nil {
		return x.inconclusive(err)
	}
	x.findHolders()
	o, _ := x.conclude()
	if o = x.confirm(o); o != nil {
		x.recordCalls(o)
	}
	return o
}

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
	left := x.Time.Left() - (intervals+2)*x.slowestLook
	for _, wait := range assertion.RetryWaits {
		left -= wait
	}
	const calls = 1<<(intervals+1) - 1 // of all batches, if the first has one
	return max(1, min(batch, int(left/(calls*x.slowestCall))))
}

// outOfTime is the outcome where the test would time out before the next snapshot.
func (x *Experiment) outOfTime() *assertion.Outcome {
	seen := fmt.Sprintf("op was called %s, the slowest call took %s, and %s",
		textfmt.CountNoun(x.calls, "time"), x.slowestCall.Round(time.Millisecond), textfmt.CountNoun(int64(len(x.moments)), "snapshot")+" could be taken")
	if len(x.moments) < 2 {
		return x.inconclusive(x.Time.Spent(seen+", where two with calls of op between them are the least", nil))
	}
	o, _ := x.conclude()
	unknown := x.inconclusive(x.Time.Spent(seen+"; memory grew with each batch of calls until then, but so does that of a cache that fills up", nil))
	if o.Body != nil {
		unknown.Message += "\n\n    what grew until then:\n        " + strings.Join(o.Body(), "\n        ")
	}
	return unknown
}

func (x *Experiment) runBatch(n int) {
	end := x.countMapped()
	x.call(n)
	end()
	x.batches = append(x.batches, n)
}

func (x *Experiment) call(n int) {
	for range n {
		if x.failed || x.late {
			return
		}
		if !x.Time.Allows(x.slowestCall + x.slowestLook + x.slowestLook/2) {
			x.late = true
			return
		}
		start := x.Now()
		x.Op()
		x.slowestCall = max(x.slowestCall, x.Now().Sub(start))
		x.calls++
		if x.passed != nil {
			x.passed()
		}
		x.failed = x.fails()
	}
}

// look takes a snapshot, again if it does not agree with the collector.
func (x *Experiment) look() error {
	scopes := check.ScopeCheck{Req: x.Req}
	all := scopes.Needs().And(observe.Needs{Heap: true, Names: true, Profile: x.Env.KeepsFiles(), AlsoHeldBy: x.alsoHeldBy})
	for try := 0; ; try++ {
		start := x.Now()
		obs, err := x.ObserveInTime(all)
		if err == nil {
			err = x.see(obs, scopes, try == len(assertion.RetryWaits))
		}
		x.slowestLook = max(x.slowestLook, x.Now().Sub(start))
		if err == nil || !assertion.IsAudit(err) || try == len(assertion.RetryWaits) {
			return err
		}
		x.Sleep(assertion.RetryWaits[try])
	}
}

// see evaluates an observation. What the last one misses may be what leaks: then it counts, but for
// a pass.
func (x *Experiment) see(obs *observe.Observation, scopes check.Check, last bool) error {
	doubt := observe.Audit(obs.Report)
	if doubt != nil && (!last || !observe.OnlyMisses(obs.Report)) {
		return &assertion.AuditError{Err: doubt}
	}
	x.Env.Declared = obs.Names.Declaration
	if x.recorded != nil {
		obs.Heap = x.recorded.eval.Heap
	}
	x.Logs = append(x.Logs, obs.Logs...)
	obs.Logs = x.Logs
	s := tree.Scope{Packages: x.Req.Scope}
	e := check.Evaluate(obs, x.Req, s, []check.Check{scopes})
	m := &moment{calls: x.calls, mapped: x.mapped, eval: e, forest: heldop.Named(e.Forest.WithFired()), doubt: doubt}
	if b := tree.Missed(obs.Report.Totals); b != nil && len(s.Packages) == 0 {
		m.forest = append(m.forest, b)
	}
	m.goroutines = x.goroutinesIn(s)
	m.ledger = x.takeLedger()
	m.native = x.takeNative(m.ledger)
	x.moments = append(x.moments, m)
	return nil
}

// takeLedger lists what the process has of the operating system's. The snapshot is gone by now, and
// what was garbage has been finalized.
func (x *Experiment) takeLedger() *ledger.Ledger {
	if x.Resources == nil {
		return nil
	}
	l, err := x.Resources(x.Test)
	var missing []string
	if err != nil {
		missing = []string{err.Error()}
	} else {
		missing = l.Missing
	}
	for _, m := range missing {
		note := "not all resources were looked at: " + m
		if !slices.Contains(x.Logs, note) {
			x.Logs = append(x.Logs, note)
		}
	}
	return l
}

func (x *Experiment) inconclusive(err error) *assertion.Outcome {
	o := x.Unknown(err)
	if len(x.moments) > 0 {
		o.Eval = x.last().eval
	}
	return o
}

// doubt returns why a snapshot is not good enough to judge by, nil if all are.
func (x *Experiment) doubt() error {
	for _, m := range x.moments {
		if m.doubt != nil {
			return m.doubt
		}
	}
	return nil
}

// uncounted reports whether there is a snapshot at which goroutines could not be counted.
func (x *Experiment) uncounted() bool {
	return slices.ContainsFunc(x.moments, func(m *moment) bool { return m.goroutines == nil })
}

func (x *Experiment) first() *moment { return x.moments[0] }

func (x *Experiment) last() *moment { return x.moments[len(x.moments)-1] }

// conclude returns what is to be said after the last snapshot, and whether anything grew with each
// batch.
func (x *Experiment) conclude() (o *assertion.Outcome, grows bool) {
	e := x.last().eval
	o = &assertion.Outcome{Verdict: verdict.Pass, Eval: e, Notes: e.Notes(), Snapshots: 1, Base: x.first().eval.Artifacts(), Before: x.first().eval.Report.Totals.LiveBytes}
	if problems := e.Problems(); len(problems) > 0 {
		o.Verdict, o.Failed, o.Misuse = verdict.Fail, true, true
		o.Message = "leakcheck: " + strings.Join(problems, "\n")
		return o, false
	}
	g := x.growth()
	o.Notes = append(x.withoutUseful(o.Notes), g.kept...)
	if err := x.doubt(); err != nil && !g.hasMissed() {
		return x.inconclusive(&assertion.AuditError{Err: err}), false
	}
	if x.uncounted() && g.none() {
		return x.inconclusive(uncountedGoroutines()), false
	}
	if g.none() {
		o.Notes = append(o.Notes, x.forgiven()...)
		mapping := x.mapping()
		if mapping != nil && ledger.Sanitized {
			o.Notes = append(o.Notes, noteUnjudged(mapping))
		}
		return o, mapping != nil
	}
	x.suspects = append(x.suspects, g.leaks...)
	if x.uncounted() {
		o.Notes = append(o.Notes, "goroutines were not counted: "+tooManyGoroutines)
	}
	o.Verdict, o.Failed = verdict.Fail, true
	e.Forest = g.forest
	o.Bounds = g.records(x.Assertion)
	o.Body = func() []string { return x.growthFailure(g) }
	return o, true
}
