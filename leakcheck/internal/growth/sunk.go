package growth

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// maxRestarts bounds how often an experiment begins anew since something sank.
const maxRestarts = 2

// A fall is what there was less of at the last snapshot than at the one before. Where something ends
// meanwhile that was there before, such as timers that had yet to fire, it hides as much growth as it
// makes up for.
type fall struct {
	where, what string
	from, to    int64
}

// sank returns what of the program's fell in the last batch by so much that it could hide a leak;
// ok is false if nothing did.
func (x *Experiment) sank() (f fall, ok bool) {
	before, last := x.moments[len(x.moments)-2], x.last()
	least := minGrownPerCall * float64(last.calls-before.calls)
	deepest := 0.0
	consider := func(where, what string, from, to int64) {
		if by := float64(from - to); by >= max(1, least) && by > deepest {
			f, ok, deepest = fall{where, what, from, to}, true, by
		}
	}
	before.forest.All(func(b *tree.Branch) bool {
		if x.countsByType(b) {
			key := b.GrowthKey()
			was, is := before.figures()[key], last.figures()[key]
			consider("via "+textfmt.Abridge(b.Path, message.MaxNameShown), inObjects.String(), was[inObjects], is[inObjects])
			consider("via "+textfmt.Abridge(b.Path, message.MaxNameShown), inEntries.String(), was[inEntries], is[inEntries])
		}
		return true
	})
	for origin, g := range before.goroutines {
		consider("in "+textfmt.Abridge(symbol.Unescape(origin.Entry), message.MaxNameShown), "goroutines", g.Count, last.goroutines[origin].Count)
	}
	return f, ok
}

// note says what a pass does not tell.
func (f fall) note() string {
	return fmt.Sprintf("fell while op was called, which may hide as much growth: %s: %s: %s → %s", f.where, f.what, textfmt.Count(f.from), textfmt.Count(f.to))
}
