package finding

import (
	"cmp"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// moving returns objects whose number grows with each batch in all places together, though at no
// single place; nil if there are none. Such objects change places between snapshots: a function
// that sets its timer again is pending, about to run or running. moving counts objects by type, and
// only types of the program. Growth at a single place is judged there; if it is no leak, it is kept
// on purpose.
func (f *Finder) moving(grown tree.Forest) *Leak {
	placed := make(map[string]bool)
	var candidates []*tree.Branch
	grown.All(func(b *tree.Branch) bool {
		if f.CountsByType(b) {
			candidates = append(candidates, b)
			if !placed[b.Typ] {
				here := f.Measured(b, InObjects)
				placed[b.Typ] = here.CountsKeepPace()
			}
		}
		return true
	})
	sort.Slice(candidates, func(i, j int) bool {
		a, b := candidates[i], candidates[j]
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(len(a.Line()), len(b.Line())), strings.Compare(a.Path, b.Path)) < 0
	})
	for _, b := range candidates {
		if s := f.OfType(b.Typ); !placed[b.Typ] && s.CountsKeepPace() {
			l := &Leak{Heads: []*tree.Branch{b}, Own: s, Moves: true}
			l.sum()
			return l
		}
	}
	return nil
}
