package check

import (
	"sort"

	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// amount says how much was found, and by how much it exceeds the bound.
func amount(b *request.Bound, found tree.Tally) string {
	s := "found " + found.Text()
	if over := found.Over(b.MaxObjects, b.MaxBytes); over != "" && !b.None {
		s += ": " + over
	}
	return s
}

// rank returns the branches with figures that count for the selector, the largest first.
func rank(s *request.Selector, branches []*tree.Branch, weight func(tree.Tally) int64) []*tree.Branch {
	var some []*tree.Branch
	for _, b := range branches {
		if s.Figures(b) != (tree.Tally{}) {
			some = append(some, b)
		}
	}
	sort.SliceStable(some, func(i, j int) bool {
		a, b := some[i], some[j]
		if c := tree.CompareTallies(weight, s.Figures(b), s.Figures(a)); c != 0 {
			return c < 0
		}
		return a.Path < b.Path
	})
	return some
}
