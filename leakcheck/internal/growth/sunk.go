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

// A fall is what there was less of at a snapshot than at the one before. Where something ends
// meanwhile that was there before, such as timers that had yet to fire, it hides as much growth as it
// makes up for.
type fall struct {
	to          int // the snapshot, by its number
	where, what string
	was, is     int64
}

// forgetFall drops the snapshots before the last fall, and reports whether there was one.
func (x *Experiment) forgetFall() bool {
	f := x.lastFall()
	if f != nil {
		x.moments = x.moments[f.to:]
	}
	return f != nil
}

// lastFall returns what of the program's fell by so much that it could hide a leak: the most that
// did in the last batch in which anything did, nil if nothing did.
func (x *Experiment) lastFall() *fall {
	for to := len(x.moments) - 1; to > 0; to-- {
		if f := x.fallTo(to); f != nil {
			return f
		}
	}
	return nil
}

func (x *Experiment) fallTo(to int) (deepest *fall) {
	before, at := x.moments[to-1], x.moments[to]
	least := max(1, int64(minGrownPerCall*float64(at.calls-before.calls)))
	consider := func(where, what string, was, is int64) {
		if was-is >= least && (deepest == nil || was-is > deepest.was-deepest.is || was-is == deepest.was-deepest.is && where < deepest.where) {
			deepest = &fall{to, where, what, was, is}
		}
	}
	before.forest.All(func(b *tree.Branch) bool {
		if x.countsByType(b) {
			was, is := before.figures()[b.GrowthKey()], at.figures()[b.GrowthKey()]
			where := "via " + textfmt.Abridge(b.Path, message.MaxNameShown)
			consider(where, inObjects.String(), was[inObjects], is[inObjects])
			consider(where, inEntries.String(), was[inEntries], is[inEntries])
		}
		return true
	})
	for origin, g := range before.goroutines {
		consider("in "+textfmt.Abridge(symbol.Unescape(origin.Entry), message.MaxNameShown), "goroutines", g.Count, at.goroutines[origin].Count)
	}
	return deepest
}

// note says what a pass does not tell.
func (f fall) note() string {
	return fmt.Sprintf("fell while op was called, which may hide as much growth: %s: %s: %s → %s", f.where, f.what, textfmt.Count(f.was), textfmt.Count(f.is))
}
