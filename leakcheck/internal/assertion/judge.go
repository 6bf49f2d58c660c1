package assertion

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// Judge takes snapshots until the assertion holds in one, at most one more than RetryWaits has
// waits. If the bounds can be proved without a snapshot, it takes none.
func (a *Assertion) Judge() *Outcome {
	if problems := a.problems(a.checks(nil)); len(problems) > 0 {
		return Misuse("%s", strings.Join(problems, "\n    "))
	}
	o := &Outcome{}
	if b := a.Req.Baseline; b != nil {
		if b.Unknown != nil {
			return a.Unknown(fmt.Errorf("there is no baseline: %w", b.Unknown))
		}
		o.Base, o.Before = observe.Artifacts{Heap: b.Heap, Report: b.Report}, b.Live
	}
	if !a.Req.Bounded() {
		golden, instead := a.openGolden()
		if instead != nil {
			return instead
		}
		o.Golden = golden
	}
	within, err := a.prove(o)
	switch {
	case err != nil:
		return a.Unknown(err)
	case within:
		return o
	}
	return a.look(o)
}

// openGolden opens the golden file, or returns an outcome if there is nothing to compare with.
func (a *Assertion) openGolden() (c *check.Comparison, instead *Outcome) {
	c, err := check.OpenGolden(a.Env, a.file)
	switch {
	case err != nil:
		return nil, a.WithoutGolden(err)
	case a.readsOnly:
		c.Write = false
	case a.T == nil && a.Env.Partial || a.afterBenchmarks():
		// some tests did not run, so that less is retained than the file allows, or more ran
		c.Write = false
		if c.File == nil && (a.Env.Partial || !a.Env.Ci) {
			return nil, &Outcome{Verdict: verdict.Pass, Golden: c, Notes: []string{"there is no " + c.Shown + " yet; run all tests to make it, without benchmarks"}}
		}
	}
	if !c.Ok() && c.File == nil {
		return nil, a.MissingGolden(c)
	}
	return c, nil
}

// looks are the snapshots of an assertion, one after another.
type looks struct {
	*Assertion
	checks    []check.Check
	needs     observe.Needs
	native    bool // the checks need native memory
	artifacts bool // there is time for the next snapshot to have all artifacts
	o         *Outcome
	compared  *check.Comparison // of the last snapshot that could be judged; nil: the request has bounds
	first     string            // what was broken first, "" if nothing was
}

// look judges by snapshots. o has what is known before the first.
func (a *Assertion) look(o *Outcome) *Outcome {
	l := &looks{Assertion: a, checks: a.checks(o.Golden), o: o}
	for _, c := range l.checks {
		l.needs = l.needs.And(c.Needs())
	}
	l.native = l.needs.Native
	if err := a.recall(l.needs); err != nil {
		return a.Unknown(err)
	}
	for {
		start := a.Now()
		e, err := l.next()
		if done := l.done(e, err); done != nil {
			return done
		}
		if late := l.wait(e, err, a.Now().Sub(start)); late != nil {
			return late
		}
	}
}

// next takes one snapshot and evaluates it. A failure takes more than one, so the later ones
// collect garbage and take the profile.
func (l *looks) next() (*check.Evaluation, error) {
	l.needs.Collect = l.o.Snapshots > 0
	l.needs.Profile = l.Env.KeepsFiles() && (l.Env.Every || l.o.Snapshots > 0)
	l.needs.Native = l.native || nativeheap.Supported && l.needs.Profile && (l.Env.Every || l.artifacts)
	l.o.Snapshots++
	return l.observe(l.needs, l.checks)
}

// done returns the outcome if the snapshot was the last one needed. Otherwise it notes what the
// snapshot showed.
func (l *looks) done(e *check.Evaluation, err error) *Outcome {
	last := l.o.Snapshots > len(RetryWaits)
	switch {
	case err != nil && (last || !IsAudit(err)):
		unknown := l.Unknown(err)
		unknown.Eval, unknown.Golden = e, l.o.Golden
		return unknown
	case err != nil:
		return nil
	}
	l.o.Eval = e
	if e.Ok() && (!e.Golden.Writing() || e.Golden.Same(l.compared)) || last || len(e.Problems()) > 0 {
		return l.conclude(l.o, l.first)
	}
	_, _, broken := e.Broken()
	l.first = cmp.Or(l.first, broken)
	l.needs.AlsoHeldBy, l.needs.ByDistance = message.Places(e), l.o.Golden != nil && l.Req.Baseline == nil
	l.compared = e.Golden
	return nil
}

// wait waits for the next snapshot. It returns an outcome if there is no time for one as long as
// the last.
func (l *looks) wait(e *check.Evaluation, err error, took time.Duration) (late *Outcome) {
	wait := RetryWaits[l.o.Snapshots-1]
	if !l.Time.Allows(wait + took + took/2) {
		return l.outOfTime(e, err)
	}
	if !l.Time.Allows(wait + (2+2*time.Duration(len(l.needs.AlsoHeldBy)))*took) {
		l.needs.AlsoHeldBy, l.needs.ByDistance = nil, false
	}
	beforeLast := l.o.Snapshots == len(RetryWaits)
	l.artifacts = beforeLast && l.Time.Allows(wait+4*took)
	var pending PendingTimers
	if err == nil && beforeLast {
		pending = pendingTimers(e)
	}
	l.Pause(wait, pending, took+took/2)
	return nil
}

// outOfTime is the outcome where another snapshot is needed, but there is no time for it.
func (l *looks) outOfTime(e *check.Evaluation, err error) *Outcome {
	seen := "the assertion holds, but what is to be written to the golden file was seen once only"
	if err != nil {
		seen = "the last snapshot is not good enough to judge by"
	} else if !e.Ok() {
		_, _, broken := e.Broken()
		seen = fmt.Sprintf("in %s the assertion does not hold, which may be what is just about to end: %s",
			textfmt.CountNoun(int64(l.o.Snapshots), "snapshot"), cmp.Or(broken, l.first))
	}
	unknown := l.Unknown(l.Time.Spent(seen, err))
	unknown.Eval, unknown.Golden = e, l.o.Golden
	return unknown
}
