package trial

import (
	"slices"

	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/refscan"
)

// What grew may go while op is not called. Then it is no leak, or that is not known.

// hasLeft reports whether more than half of what some leak had added between first and before has
// gone since. Of bytes those in use count: an array that was emptied stays where it is.
func hasLeft(g *finding.Growth, first, before, now *finding.Snapshot) bool {
	return slices.ContainsFunc(g.Leaks, func(l *finding.Leak) bool {
		if len(l.Heads) == 0 {
			return false
		}
		key, by := l.Heads[0].GrowthKey(), l.Measure
		if by == finding.InBytes {
			by = finding.InUse
		}
		was := before.Figures()[key][by]
		grown := was - first.Figures()[key][by]
		return grown > 0 && was-now.Figures()[key][by] > grown/2
	})
}

// draining returns the error that goroutines pile up, and nothing else, and that a hundredth of
// each pile and more has ended since it was seen before, while op was not called: calls that are
// faster than what they start look like a leak. It returns nil if that is not so.
func draining(before, now *finding.Growth) error {
	piled := make(map[goroutine.Origin]int64)
	for _, l := range before.Leaks {
		if l.Goroutines != nil && !l.Deepens {
			piled[l.Origin] = l.Piled.Grown()
		}
	}
	for _, l := range now.Leaks {
		if l.Goroutines == nil || l.Deepens || 100*l.Piled.Grown() > 99*piled[l.Origin] {
			return nil
		}
	}
	if now.None() {
		return nil
	}
	return &refscan.UnavailableError{
		Cause:  "goroutines pile up, and end one after another while op is not called",
		Remedy: "let op wait for the goroutines that it starts",
	}
}

// isThinned reports whether a part of each leak was gone after the wait without calls.
func isThinned(f *finding.Finder, g *finding.Growth) bool {
	return !slices.ContainsFunc(g.Leaks, func(l *finding.Leak) bool {
		s := f.InUseOf(l)
		return !s.Thinned()
	})
}
