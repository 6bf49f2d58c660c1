package finding

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// A Fall is a figure that was lower at a snapshot than at the one before. Where older objects go,
// such as timers that had yet to fire, they hide the same amount of growth.
type Fall struct {
	To          int // index of the snapshot
	where, what string
	was, is     int64
}

// LastFall returns the deepest fall of the program's figures in the last batch in which any fell by
// so much that it could hide a leak; nil if none did.
func (h *History) LastFall() *Fall {
	for to := len(h.Snapshots) - 1; to > 0; to-- {
		if f := h.fallTo(to); f != nil && !h.Snapshots[to].Settled {
			return f
		}
	}
	return nil
}

func (h *History) fallTo(to int) (deepest *Fall) {
	before, at := h.Snapshots[to-1], h.Snapshots[to]
	calls := float64(at.Calls - before.Calls)
	least := max(1, int64(series.MinGrownPerCall*calls))
	consider := func(where, what string, was, is int64) {
		if was-is >= least && (deepest == nil || was-is > deepest.was-deepest.is || was-is == deepest.was-deepest.is && where < deepest.where) {
			deepest = &Fall{to, where, what, was, is}
		}
	}
	before.Forest.All(func(b *tree.Branch) bool {
		if h.CountsByType(b) {
			was, is := before.Figures()[b.GrowthKey()], at.Figures()[b.GrowthKey()]
			where := "via " + textfmt.Abridge(b.Path, message.MaxNameShown)
			consider(where, InObjects.String(), was[InObjects], is[InObjects])
			consider(where, InEntries.String(), was[InEntries], is[InEntries])
		}
		return true
	})
	for origin, g := range before.Goroutines {
		consider("in "+textfmt.Abridge(symbol.Unescape(origin.Entry), message.MaxNameShown), "goroutines", g.Count, at.Goroutines[origin].Count)
	}
	if deepest != nil || before.Ledger == nil || at.Ledger == nil {
		return deepest
	}
	for _, f := range fallThresholds {
		least = max(1, int64(f.least*calls))
		is := at.Ledger.Sizes(f.kind, f.level, nil)
		for name, was := range before.Ledger.Sizes(f.kind, f.level, nil) {
			consider(name, f.kind.Counted(), was, is[name])
		}
	}
	return deepest
}

// fallThresholds lists the resources of which one that goes hides another that comes, with the
// decrease for each call that may hide a leak: open descriptors and processes of one name, and C
// code's memory of any size. Mapped memory is also measured while op is called, and the runtime's
// memory for stacks comes and goes.
var fallThresholds = []struct {
	kind  ledger.Kind
	level int
	least float64
}{
	{ledger.Process, 0, series.MinGrownPerCall},
	{ledger.Descriptor, 0, series.MinGrownPerCall},
	{ledger.Native, ledger.Levels - 1, series.MinBlocksPerCall},
	{ledger.NativeBytes, ledger.Levels - 1, series.MinMappedPerCall},
}

// Note describes the fall for the log of a pass, which does not exclude growth that the fall hides.
func (f Fall) Note() string {
	return fmt.Sprintf("fell while op was called, which may hide as much growth: %s: %s: %s → %s", f.where, f.what, textfmt.Count(f.was), textfmt.Count(f.is))
}
