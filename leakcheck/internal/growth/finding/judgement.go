package finding

import (
	"strings"

	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// A judgement tells which branches grow with each batch.
type judgement struct {
	*Finder
	kept map[*tree.Retainer][]*tree.Branch // growing branches that are kept on purpose
}

// seriesOf returns the series that a branch is judged by: that of its objects if they grow or level
// off, else that of a map's entries, of the bytes in use of a channel's buffer or of a string, or
// of the bytes of other memory. The bytes that a map has for its entries vary by chance.
func (j judgement) seriesOf(b *tree.Branch) (series.Series, Measure) {
	if s := j.Measured(b, InObjects); s.CountsKeepPace() || s.LevelsOff() { // and their bytes with them
		return s, InObjects
	}
	if strings.HasPrefix(b.Typ, "map[") || tree.IsTrie(b.Typ) {
		return j.Measured(b, InEntries), InEntries
	}
	if b.RoomBytes > 0 {
		if s := j.Measured(b, InUse); isQueue(b) || isText(b) && s.IsExact() {
			return s, InUse
		}
	}
	return j.Measured(b, InBytes), InBytes
}

// heads returns the topmost branches whose objects grow, and those whose entries or bytes grow if
// no objects above or below them do. With piled, the branch belongs to goroutines that pile up, and
// growth counts even where a known retainer keeps it on purpose. Growth on a growing record of
// package testing belongs to that record as far as both grow together, such as on a function for
// each call of op that t.Cleanup has. Growth on one object that many of these functions refer to
// counts. within is the record that the branch grows with, nil if there is none.
func (j judgement) heads(b *tree.Branch, piled bool, within *tree.Retainer) []*tree.Branch {
	s, m := j.seriesOf(b)
	grows := j.keepsUp(b, s, m) && !b.BelongsToGoroutine()
	if b.IsMissed() {
		grows = m == InObjects && s.MissedGrow()
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
	if grows && m == InObjects {
		return []*tree.Branch{b}
	}
	var below []*tree.Branch
	objects := false
	for _, c := range b.Children {
		for _, h := range j.heads(c, piled, within) {
			_, m := j.seriesOf(h)
			objects = objects || m == InObjects
			below = append(below, h)
		}
	}
	if grows && !objects {
		return []*tree.Branch{b}
	}
	return below
}

// keepsUp reports whether the figure of a branch grew in every batch, in proportion to its calls or
// faster. Arrays grow in steps that get smaller in relation to their size. If the bytes in use of
// the arrays keep pace, all their bytes only have to grow in each batch. An array that was emptied
// has left its place.
func (j judgement) keepsUp(b *tree.Branch, s series.Series, m Measure) bool {
	switch m {
	case InBytes:
	case InUse:
		return j.isJudged(b, s)
	default:
		return s.CountsKeepPace()
	}
	used := j.Measured(b, InUse)
	if used.Gone() {
		return false
	}
	if s.BytesKeepPace() {
		return true
	}
	return s.BytesStepUp() && used.CountsKeepPace()
}
