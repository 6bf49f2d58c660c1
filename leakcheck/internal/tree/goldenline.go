package tree

import (
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
)

// RetainedLine is the prefix of the golden-file lines on what cutting would free.
const RetainedLine = "retained:"

// Entries is the name of a map's values, whose line bounds how many entries the map has.
const Entries = "[*]"

// Covered returns the branches from which the given lines of a golden file were measured.
func (f Forest) Covered(ms []golden.Measurement) []*Branch {
	var found []*Branch
	f.All(func(b *Branch) bool {
		for _, m := range ms {
			m.Path = strings.TrimPrefix(m.Path, RetainedLine)
			sum, isSum := strings.CutSuffix(m.Path, ".**")
			switch {
			case m.Path == b.Path && (m.Type == b.Typ || m.Type == ""),
				m.Path == b.Path+Entries && m.Type == "" && b.Elems > 0,
				isSum && strings.HasPrefix(b.Path, sum) && len(b.Path) > len(sum) && naming.AtBoundary(b.Path, len(sum)):
				found = append(found, b)
				return true
			}
		}
		return true
	})
	return found
}
