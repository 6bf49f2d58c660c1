package finding

import (
	"strings"

	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// A judgement tells which branches grow with each batch.
type judgement struct {
	*Finder
	kept map[*tree.Retainer][]*tree.Branch // what grows but is kept on purpose
}

// seriesOf returns the series that a branch grows in: that of its objects if they do, else that of
// a map's entries, or of other memory's bytes. How many bytes a map has for its entries is chance.
func (j judgement) seriesOf(b *tree.Branch) (series.Series, history.Measure) {
	if s := j.Measured(b, history.InObjects); s.CountsKeepPace() || s.LevelsOff() { // with what they take
		return s, history.InObjects
	}
	if strings.HasPrefix(b.Typ, "map[") || tree.IsTrie(b.Typ) {
		return j.Measured(b, history.InEntries), history.InEntries
	}
	return j.Measured(b, history.InBytes), history.InBytes
}

// heads returns the topmost branches whose objects grow, and those whose entries or bytes do where
// no objects above or below them do. What hangs at goroutines that pile up counts whatever it is.
// What hangs on records of package testing that grow is theirs as far as it grows with them, so on
// a function for each call of op that t.Cleanup has; not what grows on an object that many of these
// functions refer to: within is the record that the branch grows with.
func (j judgement) heads(b *tree.Branch, piled bool, within *tree.Retainer) []*tree.Branch {
	s, m := j.seriesOf(b)
	grows := j.keepsUp(b, s, m) && !b.BelongsToGoroutine()
	if b.IsMissed() {
		grows = m == history.InObjects && s.MissedGrow()
	}
	if grows && !piled {
		if r := tree.RetainerOf(j.Env, b); r != nil && r.Grows {
			grows = false
			j.kept[r] = append(j.kept[r], b)
		}
	}
	if !grows {
		within = nil
	} else if within == nil {
		within = tree.TestingRecordOf(j.Env, b)
	}
	if within != nil {
		grows = false
		j.kept[within] = append(j.kept[within], b)
	}
	if grows && m == history.InObjects {
		return []*tree.Branch{b}
	}
	var below []*tree.Branch
	objects := false
	for _, c := range b.Children {
		for _, h := range j.heads(c, piled, within) {
			_, m := j.seriesOf(h)
			objects = objects || m == history.InObjects
			below = append(below, h)
		}
	}
	if grows && !objects {
		return []*tree.Branch{b}
	}
	return below
}

// keepsUp reports whether the figure of a branch grew in every batch, in proportion to its calls or
// faster. Arrays grow in steps, ever smaller ones for their size: where what is in use of them
// keeps pace, they need not.
func (j judgement) keepsUp(b *tree.Branch, s series.Series, m history.Measure) bool {
	if m != history.InBytes {
		return s.CountsKeepPace()
	}
	if s.BytesKeepPace() {
		return true
	}
	used := j.Measured(b, history.InUse)
	return s.BytesStepUp() && used.CountsKeepPace()
}
