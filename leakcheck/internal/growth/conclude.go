package growth

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/trial"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// A progress is how far an experiment is, from which its outcome follows.
type progress struct {
	a     *assertion.Assertion
	run   *calls.Runner
	trial *trial.Trial
}

// outcome is the outcome by the last judgement.
func (s *progress) outcome(j *trial.Judgement) *assertion.Outcome {
	if j.Err != nil {
		return s.inconclusive(j.Err)
	}
	before, e := s.trial.First().Eval, s.trial.Last().Eval
	o := &assertion.Outcome{Verdict: verdict.Pass, Eval: e, Notes: slices.Clone(e.Notes), Base: &request.Baseline{Artifacts: before.Artifacts(), Live: before.Report.Totals.LiveBytes}}
	if j.Misuse {
		o.Verdict, o.Misuse, o.Message = verdict.Fail, true, "leakcheck: "+strings.Join(e.Problems, "\n")
		return o
	}
	o.Notes = append(s.trial.WithoutUseful(o.Notes), j.Growth.Kept...)
	if j.Passes() {
		o.Notes = append(o.Notes, s.trial.Forgiven()...)
		if j.Mapping != nil && ledger.Sanitized {
			o.Notes = append(o.Notes, wording.Unjudged(j.Mapping))
		}
		if f := s.trial.LastFall(); f != nil {
			o.Notes = append(o.Notes, f.Note())
		}
		return o
	}
	if s.trial.Uncounted() {
		o.Notes = append(o.Notes, "goroutines were not counted: "+goroutine.TooMany)
	}
	o.Verdict = verdict.Fail
	o.Bounds = s.trial.Records(j.Growth, s.a)
	o.Body = func() []string { return s.trial.Failure(j.Growth, s.run.Calls) }
	return o
}

func (s *progress) inconclusive(err error) *assertion.Outcome {
	o := s.a.Unknown(err)
	if len(s.trial.Snapshots) > 0 {
		o.Eval = s.trial.Last().Eval
	}
	return o
}

// outOfTime is the outcome where the test would time out before the next snapshot, or where there
// is no memory for more calls.
func (s *progress) outOfTime() *assertion.Outcome {
	if short := (*headroom.Shortage)(nil); errors.As(s.run.Short(), &short) {
		return s.cutShort(&refscan.UnavailableError{
			Cause:  "op was called " + textfmt.CountNoun(s.run.Calls, "time") + ", and there is not enough memory for more calls",
			Remedy: short.Way(), Err: short,
		})
	}
	snapshots := len(s.trial.Snapshots)
	seen := fmt.Sprintf("op was called %s, the slowest call took %s, and %s",
		textfmt.CountNoun(s.run.Calls, "time"), s.run.Slowest.Round(time.Millisecond), textfmt.CountNoun(int64(snapshots), "snapshot")+" could be taken")
	if snapshots < 2 {
		return s.inconclusive(s.a.Time.Spent(seen+", where two with calls of op between them are the least", nil))
	}
	return s.cutShort(s.a.Time.Spent(seen+"; memory grew with each batch of calls until then, but so does that of a cache that fills up", nil))
}

// cutShort is the outcome where an experiment cannot go on, with what grew until then.
func (s *progress) cutShort(err error) *assertion.Outcome {
	unknown := s.inconclusive(err)
	unknown.Message += s.grownUntilNow()
	return unknown
}

// grownUntilNow describes what grew with each batch until now, "" if nothing is known to have.
func (s *progress) grownUntilNow() string {
	if len(s.trial.Snapshots) < 2 {
		return ""
	}
	j := s.trial.Judge()
	if !j.Fails() {
		return ""
	}
	return "\n\n    what grew until then:\n        " + strings.Join(s.trial.Failure(j.Growth, s.run.Calls), "\n        ")
}
