// Package compare holds two runs of leakgate, or two profiles, against each other.
package compare

import "slices"

// A Row is one line of a comparison: an assertion, a bound, or a path.
type Row struct {
	Group   string // the package of an assertion; "" for paths
	Name    string
	Depth   int // 1 for a bound, which belongs to the assertion before it
	Objects Change
	Bytes   Change
	Verdict [2]string // before and after; "" where there is none
	Note    string    // what else is to be said
}

// Grew reports whether the objects or the bytes did, beyond what they vary by.
func (r Row) Grew() bool { return r.Objects.Trend() > 0 || r.Bytes.Trend() > 0 }

// Shrank reports whether the objects or the bytes did, and the other did not grow.
func (r Row) Shrank() bool {
	return !r.Grew() && (r.Objects.Trend() < 0 || r.Bytes.Trend() < 0)
}

// A Change is one figure before and after, measured once or several times.
type Change struct {
	Old, New Series
}

// Trend is 1 if the figure grew, -1 if it shrank, and 0 if the two overlap or one is missing.
// Figures of leakgate are counts, not samples, so that every value outside the range seen before is
// a change.
func (c Change) Trend() int {
	switch {
	case len(c.Old) == 0 || len(c.New) == 0:
		return 0
	case slices.Min(c.New) > slices.Max(c.Old):
		return 1
	case slices.Max(c.New) < slices.Min(c.Old):
		return -1
	}
	return 0
}

// Delta is the difference of the medians.
func (c Change) Delta() int64 { return c.New.Median() - c.Old.Median() }

// A Series is a figure as it was measured, in any order.
type Series []int64

// Median returns the middle value, the lower of two; 0 of nothing.
func (s Series) Median() int64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[(len(sorted)-1)/2]
}

// Spread returns how far the values are from the median at most.
func (s Series) Spread() int64 {
	if len(s) == 0 {
		return 0
	}
	m := s.Median()
	return max(slices.Max(s)-m, m-slices.Min(s))
}
