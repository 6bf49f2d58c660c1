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
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// conclude returns the outcome after the last snapshot, and whether anything grew with each batch.
func (x *Experiment) conclude() (o *assertion.Outcome, grows bool) {
	before, e := x.past.First().Eval, x.past.Last().Eval
	o = &assertion.Outcome{Verdict: verdict.Pass, Eval: e, Notes: slices.Clone(e.Notes), Base: &request.Baseline{Artifacts: before.Artifacts(), Live: before.Report.Totals.LiveBytes}}
	if len(e.Problems) > 0 {
		o.Verdict, o.Misuse, o.Message = verdict.Fail, true, "leakcheck: "+strings.Join(e.Problems, "\n")
		return o, false
	}
	g := x.finder.Growth()
	o.Notes = append(x.words.WithoutUseful(o.Notes), g.Kept...)
	if err := x.past.Doubt(); err != nil && !g.HasMissed() {
		return x.inconclusive(&assertion.AuditError{Err: err}), false
	}
	if x.past.Uncounted() && g.None() {
		return x.inconclusive(uncountedGoroutines()), false
	}
	if lost := x.past.Lost(); lost != "" && g.None() {
		return x.inconclusive(&refscan.UnavailableError{
			Cause:  "what calls of op leave with the system is not known, since it could be read at first, and later not: " + lost,
			Remedy: "let op give back what it takes, or run this test alone",
		}), false
	}
	if g.None() {
		o.Notes = append(o.Notes, x.words.Forgiven(x.suspects)...)
		mapping := x.finder.Mapping()
		if mapping != nil && ledger.Sanitized {
			o.Notes = append(o.Notes, wording.Unjudged(mapping))
		}
		return o, mapping != nil || x.mapped.hasChunk()
	}
	x.suspects = append(x.suspects, g.Leaks...)
	if x.past.Uncounted() {
		o.Notes = append(o.Notes, "goroutines were not counted: "+pile.TooMany)
	}
	o.Verdict = verdict.Fail
	e.Forest = g.Forest
	o.Bounds = x.words.Records(g, x.Assertion)
	o.Body = func() []string { return x.words.Failure(g, x.op.calls) }
	return o, true
}

// uncountedGoroutines is the cause of an unknown verdict where goroutines could not be counted and
// nothing else grows.
func uncountedGoroutines() error {
	return &refscan.UnavailableError{
		Cause:  "whether goroutines pile up is not known, since they were not counted: " + pile.TooMany,
		Remedy: "let the goroutines of earlier tests end, or run this test alone",
	}
}

// outOfTime is the outcome where the test would time out before the next snapshot, or where there
// is no memory for more calls.
func (x *Experiment) outOfTime() *assertion.Outcome {
	if short := (*headroom.Shortage)(nil); errors.As(x.op.short, &short) {
		return x.cutShort(&refscan.UnavailableError{
			Cause:  "op was called " + textfmt.CountNoun(x.op.calls, "time") + ", and there is not enough memory for more calls",
			Remedy: short.Way(), Err: short,
		})
	}
	seen := fmt.Sprintf("op was called %s, the slowest call took %s, and %s",
		textfmt.CountNoun(x.op.calls, "time"), x.op.slowest.Round(time.Millisecond), textfmt.CountNoun(int64(len(x.past.Snapshots)), "snapshot")+" could be taken")
	if len(x.past.Snapshots) < 2 {
		return x.inconclusive(x.Time.Spent(seen+", where two with calls of op between them are the least", nil))
	}
	return x.cutShort(x.Time.Spent(seen+"; memory grew with each batch of calls until then, but so does that of a cache that fills up", nil))
}

// cutShort is the outcome where an experiment cannot go on, with what grew until then.
func (x *Experiment) cutShort(err error) *assertion.Outcome {
	unknown := x.inconclusive(err)
	unknown.Message += x.grownUntilNow()
	return unknown
}

// grownUntilNow describes what grew with each batch until now, "" if nothing is known to have.
func (x *Experiment) grownUntilNow() string {
	if len(x.past.Snapshots) < 2 {
		return ""
	}
	o, _ := x.conclude()
	if o.Body == nil {
		return ""
	}
	return "\n\n    what grew until then:\n        " + strings.Join(o.Body(), "\n        ")
}
