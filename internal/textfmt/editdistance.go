package textfmt

import (
	"slices"
	"strings"
)

// EditDistance returns how many characters must be put in, left out, replaced, or swapped with
// their neighbour to get from a to b, or limit+1 if more than limit. A character is a byte. The
// cost is the product of the lengths.
func EditDistance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(row[j-1]+1, last[j]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit { // and so the row before had no less than limit, to which a swap adds one
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit+1)
}

// Nearest returns the names that take the fewest edits, and at most limit, to become what was
// written. Upper and lower case are the same, and a name counts once.
func Nearest(written string, names []string, limit int) []string {
	var near []string
	for _, name := range names {
		switch d := EditDistance(strings.ToLower(written), strings.ToLower(name), limit); {
		case d > limit || d == limit && slices.Contains(near, name):
		case d < limit:
			near, limit = []string{name}, d
		default:
			near = append(near, name)
		}
	}
	return near
}
