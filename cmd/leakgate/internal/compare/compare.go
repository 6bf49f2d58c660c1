// Package compare compares two runs of leakgate, or two profiles.
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
	Note    string    // a remark
}

// Grew reports whether the objects or the bytes grew, beyond their variation.
func (r Row) Grew() bool { return r.Objects.Trend() > 0 || r.Bytes.Trend() > 0 }

// Shrank reports whether the objects or the bytes shrank, and neither grew.
func (r Row) Shrank() bool {
	return !r.Grew() && (r.Objects.Trend() < 0 || r.Bytes.Trend() < 0)
}

// A Change is one figure before and after, measured once or several times.
type Change struct {
	Old, New Series
}

// Trend is 1 if the figure grew, -1 if it shrank, and 0 if the two ranges overlap or one is
// missing. Figures of leakgate are counts, not samples: every value outside the earlier range is a
// change.
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

// Median returns the middle value, or the lower of the two in the middle; 0 for no values.
func (s Series) Median() int64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[(len(sorted)-1)/2]
}

// Spread returns the largest distance of a value from the median.
func (s Series) Spread() int64 {
	if len(s) == 0 {
		return 0
	}
	m := s.Median()
	return max(slices.Max(s)-m, m-slices.Min(s))
}
