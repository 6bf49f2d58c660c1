package assertion

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
)

// Judge takes snapshots until the assertion holds in one, at most one more than RetryWaits has
// waits. If the bounds can be proved without a snapshot, it takes none.
func (a *Assertion) Judge() *Outcome {
	if problems := a.problems(a.checks(nil)); len(problems) > 0 {
		return Misuse("%s", strings.Join(problems, "\n    "))
	}
	if b := a.Req.Baseline; b != nil && b.Unknown != nil {
		return a.Unknown(fmt.Errorf("there is no baseline: %w", b.Unknown))
	}
	var golden *check.Comparison
	if !a.Req.Bounded() {
		var instead *Outcome
		if golden, instead = a.openGolden(); instead != nil {
			return instead
		}
	}
	if proved := a.prove(); proved != nil {
		return proved
	}
	var apart error
	if golden != nil && golden.Write && a.wantsProcess() {
		o, err := a.RunAlone(a)
		if err == nil {
			return o
		}
		apart = err
	}
	return a.look(golden, apart)
}

// openGolden opens the golden file, or returns an outcome if there is nothing to compare with.
func (a *Assertion) openGolden() (c *check.Comparison, instead *Outcome) {
	c, err := check.OpenGolden(a.Env, a.file)
	switch {
	case err != nil:
		return nil, a.WithoutGolden(err)
	case a.readsOnly, a.Env.Alone != "" && !a.isAlone():
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
	golden    *check.Comparison // as opened; nil: the request has bounds
	checks    []check.Check
	needs     observe.Needs
	native    bool // the checks need native memory
	artifacts bool // there is time for the next snapshot to have all artifacts
	snapshots int
	compared  *check.Comparison // of the last snapshot that could be judged; nil: the request has bounds
	first     string            // what was broken first, "" if nothing was
	apart     error             // why the test was not judged in a process of its own, though it should have been
	beside    string            // which other tests were running at first; "" if none was
}

// look judges by snapshots. apart says why the golden file is not to be written by a process of its
// own.
func (a *Assertion) look(golden *check.Comparison, apart error) *Outcome {
	l := &looks{Assertion: a, golden: golden, checks: a.checks(golden), apart: apart}
	if golden != nil && golden.Write {
		l.beside = a.beside()
	}
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
	l.needs.Collect = l.snapshots > 0
	l.needs.Profile = l.Env.KeepsFiles() && (l.Env.Every || l.snapshots > 0)
	l.needs.Native = l.native || native.Supported && l.needs.Profile && (l.Env.Every || l.artifacts)
	l.snapshots++
	return l.observe(l.needs, l.checks)
}

// done returns the outcome if the snapshot was the last one needed. Otherwise it notes what the
// snapshot showed.
func (l *looks) done(e *check.Evaluation, err error) *Outcome {
	last := l.snapshots > len(RetryWaits)
	switch {
	case err != nil && (last || !IsAudit(err)):
		return l.unknown(e, l.golden, err)
	case err != nil:
		return nil
	case !e.Ok() && e.Golden != nil && l.apart == nil && l.wantsProcess():
		var alone *Outcome
		if alone, l.apart = l.RunAlone(l.Assertion); l.apart == nil {
			return l.besideAlone(alone, e)
		}
	}
	if e.Ok() && (!e.Golden.Writing() || e.Golden.Same(l.compared)) || last || len(e.Problems) > 0 {
		return l.conclude(e)
	}
	_, broken := e.Broken()
	l.first = cmp.Or(l.first, broken)
	l.needs.AlsoHeldBy = message.Places(e)
	l.compared = e.Golden
	return nil
}

// wait waits for the next snapshot. It returns an outcome if there is no time for one as long as
// the last.
func (l *looks) wait(e *check.Evaluation, err error, took time.Duration) (late *Outcome) {
	wait := RetryWaits[l.snapshots-1]
	if !l.Time.Allows(wait + took + took/2) {
		return l.outOfTime(e, err)
	}
	if !l.Time.Allows(wait + (2+2*time.Duration(len(l.needs.AlsoHeldBy)))*took) {
		l.needs.AlsoHeldBy = nil
	}
	beforeLast := l.snapshots == len(RetryWaits)
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
		_, broken := e.Broken()
		seen = fmt.Sprintf("in %s the assertion does not hold, which may be what is just about to end: %s",
			textfmt.CountNoun(int64(l.snapshots), "snapshot"), cmp.Or(broken, l.first))
	}
	return l.unknown(e, l.golden, l.Time.Spent(seen, err))
}

// unknown is the outcome of an assertion that err keeps from a verdict after a snapshot. e is nil
// if the snapshot failed.
func (l *looks) unknown(e *check.Evaluation, golden *check.Comparison, err error) *Outcome {
	o := l.Unknown(err)
	o.Eval, o.Golden = e, golden
	return o
}

// conclude makes the last evaluation an outcome, and writes the golden file where that is asked
// for.
func (l *looks) conclude(e *check.Evaluation) *Outcome {
	o := &Outcome{Verdict: verdict.Pass, Notes: e.Notes, Eval: e, Golden: e.Golden, Snapshots: l.snapshots, Base: l.Req.Baseline}
	if len(e.Problems) > 0 {
		o.Verdict, o.Misuse, o.Message = verdict.Fail, true, "leakcheck: "+strings.Join(e.Problems, "\n")
		return o
	}
	if !e.Ok() && e.Golden != nil && l.afterBenchmarks() {
		_, broken := e.Broken()
		return l.unknown(e, e.Golden, &refscan.UnavailableError{
			Cause:  "more is retained than " + e.Golden.Shown + " allows for the tests, and benchmarks may have left it: " + broken,
			Remedy: "run the tests without -bench",
		})
	}
	if l.apart != nil {
		o.Notes = append(o.Notes, fmt.Sprintf("what other tests leave may count: this test could not be judged in a process of its own: %v", l.apart))
	}
	if !e.Ok() {
		o.Verdict = verdict.Fail
		if e.Golden == nil {
			o.Share = l.share(e)
		}
		l.addNativeDetails(e)
		if e.Unscanned() && l.Env.KeepsFiles() {
			o.Scanned = l.scanNative()
		}
		return o
	}
	if e.Observation.Report != nil && l.Req.Baseline == nil {
		o.Notes = append(o.Notes, l.holders(e.Report)...)
	}
	if l.first != "" {
		o.Notes = append(o.Notes, fmt.Sprintf("holds in snapshot %d; not so at first: %s", l.snapshots, l.first))
	}
	if c := e.Golden; c != nil {
		if note := c.Improvements(); note != "" && !c.Write {
			o.Notes = append(o.Notes, note)
		}
		if c.Write {
			l.WriteGolden(o, c)
			if text := cmp.Or(l.beside, l.Assertion.beside()); text != "" && c.Written() {
				l.announce([]string{text})
				o.Notes = append(o.Notes, text)
			}
		}
	}
	return o
}

// besideAlone completes the outcome of a process of its own with what is different here.
func (l *looks) besideAlone(alone *Outcome, e *check.Evaluation) *Outcome {
	_, broken := e.Broken()
	switch alone.Verdict {
	case verdict.Pass:
		alone.Notes = append(alone.Notes, fmt.Sprintf("holds where this test runs alone, in a process of its own; with what other tests left it would not: %s", broken))
	case verdict.Fail:
		alone.Message += "\njudged in a process of its own, where no other test ran"
	}
	return alone
}
