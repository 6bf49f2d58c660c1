package outcome

import (
	"slices"

	"github.com/leakgate/leakgate/internal/verdict"
)

// A Base is the revision that a run was compared with.
type Base struct {
	Name   string `json:"name"` // as it was given: "origin/main"
	Commit string `json:"commit"`
}

// GoldenNew is the status of a golden file that the base does not have.
const GoldenNew = "new"

// Excuse recomputes the outcome after failing assertions were marked as known: a run whose failures
// are all known passes, unless something else in it could not be told. Outcomes other than
// Regression and Pass stay.
func (r *Run) Excuse() {
	r.Totals.Known = 0
	unexcused := false
	for _, p := range r.Packages {
		for _, a := range p.Assertions {
			switch {
			case a.Known:
				r.Totals.Known++
			case a.Verdict == verdict.Fail:
				unexcused = true
			}
		}
	}
	if r.Outcome != Regression && r.Outcome != Pass {
		return
	}
	switch {
	case unexcused:
		r.Outcome = Regression
	case r.Totals.Unknown > 0 || len(r.Problems) > 0 || r.Interrupted:
		r.Outcome = Unknown
	default:
		r.Outcome = Pass
	}
	r.ExitCode = ExitCode(r.Outcome)
}

// AddProblem adds a problem of the run itself. It turns the outcome Pass into Unknown; all other
// outcomes stay.
func (r *Run) AddProblem(text string) {
	if !slices.Contains(r.Problems, text) {
		r.Problems = append(r.Problems, text)
	}
	if r.Outcome == Pass {
		r.Outcome = Unknown
		r.ExitCode = ExitCode(Unknown)
	}
}
