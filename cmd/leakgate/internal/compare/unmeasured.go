package compare

import (
	"slices"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// Unmeasured returns the places of run whose comparison with a golden file of base passed although
// base could not make that file: where a test binary of base ended before its tests did, and where
// the assertion of base could not tell. Either way the pass says nothing.
func Unmeasured(run, base *outcome.Run) (cut, unknown []Site) {
	crashed := make(map[string]bool)
	for _, p := range base.Packages {
		crashed[p.ImportPath] = p.Crashed
	}
	_, before := Sites(base)
	order, now := Sites(run)
	measured := func(a *outcome.Assertion) bool { return a.Verdict != verdict.Unknown && !a.Misuse }
	passed := func(a *outcome.Assertion) bool { return a.Golden != nil && a.Verdict == verdict.Pass }
	for _, s := range order {
		switch {
		case !slices.ContainsFunc(now[s], passed):
		case before[s] == nil && crashed[s.Package]:
			cut = append(cut, s)
		case before[s] != nil && !slices.ContainsFunc(before[s], measured):
			unknown = append(unknown, s)
		}
	}
	return cut, unknown
}
