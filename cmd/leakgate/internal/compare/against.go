package compare

import (
	"cmp"
	"slices"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// Against marks the assertions of run that fail in base too, with as much or more: they are known,
// and not caused by run's revision. It returns how many assertions base does not have.
//
// An assertion on bounds is known if base breaks the same bounds, each with no fewer objects and
// bytes, found or retained. An assertion without figures (no growth, collected objects) is known if
// it fails in base. A comparison with the golden files that base made is never known: what fails
// there is new.
func Against(run, base *outcome.Run) (unmatched int) {
	_, before := Sites(base)
	order, now := Sites(run)
	for _, s := range order {
		if before[s] == nil {
			unmatched += len(now[s])
			continue
		}
		for _, a := range now[s] {
			if a.Verdict == verdict.Fail && a.Golden == nil && known(a, before[s]) {
				a.Known, a.Findings = true, nil
			}
		}
	}
	return unmatched
}

// AgainstRoots marks the assertions of a run of -auto whose bounds all fail in base too, at the
// same rate within the noise, whichever tests show it. If an assertion also fails for something
// new, it loses only the findings that base has.
func AgainstRoots(run, base *outcome.Run) {
	before := make(map[string]float64) // the highest rates, by cause
	for _, p := range base.Packages {
		for _, a := range p.Assertions {
			for _, b := range a.Bounds {
				if a.Verdict == verdict.Fail && b.Verdict == verdict.Fail {
					before[causeOf(b)] = max(before[causeOf(b)], b.PerCall)
				}
			}
		}
	}
	isKnown := func(b verdict.Bound) bool {
		rate, ok := before[causeOf(b)]
		return ok && (rate == 0 || b.PerCall <= rate*(1+rateNoise)+rateNoise)
	}
	for _, p := range run.Packages {
		for _, a := range p.Assertions {
			if a.Verdict != verdict.Fail || len(a.Bounds) == 0 {
				continue
			}
			known := make(map[string]bool)
			for _, b := range a.Bounds {
				known[b.Selector] = isKnown(b)
			}
			a.Findings = slices.DeleteFunc(a.Findings, func(f outcome.Finding) bool { return known[f.Selector] })
			a.Known = !slices.ContainsFunc(a.Bounds, func(b verdict.Bound) bool { return !isKnown(b) })
		}
	}
}

// rateNoise is by which part, and by how much in all, a rate may differ between runs.
const rateNoise = 0.2

// causeOf returns what is equal for the same leak in two runs.
func causeOf(b verdict.Bound) string { return cmp.Or(b.Cause, b.Selector) }

func known(a *outcome.Assertion, before []*outcome.Assertion) bool {
	for _, b := range before {
		if b.Verdict == verdict.Fail && b.Misuse == a.Misuse && covers(b.Bounds, a.Bounds) {
			return true
		}
	}
	return false
}

// covers reports whether each bound that fails now failed before, with as much.
func covers(before, now []verdict.Bound) bool {
	used := make(map[int]bool)
	for _, n := range now {
		if n.Verdict != verdict.Fail {
			continue
		}
		found := false
		for i, b := range before {
			if !used[i] && b.Selector == n.Selector && b.Verdict == verdict.Fail && asMuch(b, n) {
				used[i], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// asMuch reports whether none of a bound's figures has grown.
func asMuch(before, now verdict.Bound) bool {
	return before.Objects >= now.Objects && before.Bytes >= now.Bytes &&
		before.RetainedObjects >= now.RetainedObjects && before.RetainedBytes >= now.RetainedBytes
}
