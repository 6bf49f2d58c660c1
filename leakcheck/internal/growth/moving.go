package growth

import (
	"cmp"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// movesText says of a leak that no single place has it.
const movesText = "counted wherever they are: at no place did they grow with each batch, since they move from one to another"

// moving returns what grows with each batch in all places together, though at none of them: objects
// that change places between snapshots, such as those of a function that sets its timer again, which
// is pending, about to run or running. It goes by the number of objects of a type, and only by types
// of the program; what grows at a place is judged there, and kept on purpose if it is no leak. nil if
// there is none.
func (x *Experiment) moving(grown tree.Forest) *leak {
	placed := make(map[string]bool)
	var candidates []*tree.Branch
	grown.All(func(b *tree.Branch) bool {
		if x.countsByType(b) {
			candidates = append(candidates, b)
			placed[b.Typ] = placed[b.Typ] || x.measured(b, inObjects).countsKeepPace()
		}
		return true
	})
	sort.Slice(candidates, func(i, j int) bool {
		a, b := candidates[i], candidates[j]
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(len(a.Line()), len(b.Line())), strings.Compare(a.Path, b.Path)) < 0
	})
	for _, b := range candidates {
		if s := x.ofType(b.Typ); !placed[b.Typ] && s.countsKeepPace() {
			l := &leak{heads: []*tree.Branch{b}, own: s, moves: true}
			l.sum()
			return l
		}
	}
	return nil
}

// countsByType reports whether objects of a branch count with their type: what is kept on purpose
// does not.
func (x *Experiment) countsByType(b *tree.Branch) bool {
	return b.Objects > 0 && b.Bytes > 0 && x.Env.MentionsProgram(b.Typ) && !b.BelongsToGoroutine() && !b.IsMissed() &&
		tree.RetainerOf(x.Env, b) == nil && tree.TestingRecordOf(x.Env, b) == nil
}

// ofType returns how many objects of a type there were at each snapshot.
func (x *Experiment) ofType(typ string) series {
	return x.series(func(m *moment) int64 {
		if m.types == nil {
			m.types = make(map[string]int64)
			m.forest.All(func(b *tree.Branch) bool {
				if x.countsByType(b) {
					m.types[b.Typ] += b.Objects
				}
				return true
			})
		}
		return m.types[typ]
	})
}
