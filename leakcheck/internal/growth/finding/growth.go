package finding

import (
	"cmp"
	"slices"
	"sort"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// A Growth holds the leaks: everything that grew with each batch.
type Growth struct {
	Forest tree.Forest // growth from the first snapshot to the last
	Leaks  []*Leak
	Kept   []string // notes on growth that is kept on purpose
}

func (g *Growth) None() bool { return len(g.Leaks) == 0 }

// HasMissed reports whether objects that the scans missed are among the growth.
func (g *Growth) HasMissed() bool {
	return slices.ContainsFunc(g.Leaks, func(l *Leak) bool { return len(l.Heads) > 0 && l.Heads[0].IsMissed() })
}

// Growth compares the snapshots so far.
func (f *Finder) Growth() *Growth {
	g := &Growth{Forest: f.Last().Forest.Growth(f.First().Forest)}
	j := judgement{Finder: f, kept: make(map[*tree.Retainer][]*tree.Branch)}
	leaks := f.piles()
	for _, root := range g.Forest {
		l := pileOf(leaks, root)
		heads := j.heads(root, l != nil, nil)
		if len(heads) == 0 {
			continue
		}
		if l == nil {
			l = &Leak{}
			leaks = append(leaks, l)
		}
		l.Heads = append(l.Heads, heads...)
	}
	for _, l := range leaks {
		sort.SliceStable(l.Heads, func(i, j int) bool {
			a, b := l.Heads[i], l.Heads[j]
			return cmp.Or(-tree.CompareTallies(tree.ObjectsOf, a.Total, b.Total), cmp.Compare(a.Path, b.Path)) < 0
		})
		l.sum()
		if len(l.Heads) > 0 {
			l.Own, l.Measure = j.seriesOf(l.Heads[0])
			if l.CountsTimers() {
				l.Own = f.TimersOf(l.Heads[0].Parent)
			}
			if l.Measure == InUse {
				// The buffer of a channel was there before; a string takes memory in steps, and a
				// part of another string keeps all of that.
				memory := f.Measured(l.Heads[0], InBytes)
				if used := l.Own.Grown(); memory.Grown() < 2*used || isQueue(l.Heads[0]) {
					l.Total.Bytes += used - memory.Grown()
				}
			}
		}
	}
	if len(leaks) == 0 {
		if l := f.moving(g.Forest); l != nil {
			leaks = append(leaks, l)
		}
	}
	sortLeaks := func(all []*Leak) {
		sort.SliceStable(all, func(i, j int) bool {
			a, b := all[i], all[j]
			return cmp.Or(cmp.Compare(a.rank(f.Env), b.rank(f.Env)), cmp.Compare(b.weight(), a.weight())) < 0
		})
	}
	sortLeaks(leaks)
	g.Leaks = addResources(f, fold(f, leaks), g.Forest)
	sortLeaks(g.Leaks)
	var hidden []tree.Kept
	for r, branches := range j.kept {
		_, one := tree.Hide(branches, func(*tree.Branch) *tree.Retainer { return r })
		hidden = append(hidden, one...)
	}
	g.Kept = tree.NotesOf(hidden)
	return g
}

// piles returns a leak for each origin of goroutines that pile up, or whose stacks get deeper.
func (f *Finder) piles() []*Leak {
	var found []*Leak
	for origin, last := range f.Last().Goroutines {
		s, deepens := f.GoroutinesOf(origin), false
		if !s.CountsKeepPace() {
			if s = f.FramesOf(origin); !s.FramesKeepPace() {
				continue
			}
			deepens = true
		}
		by := f.Env.IsProgram(symbol.Package(origin.CreatedBy)) && !f.Env.IsProgram(symbol.Package(origin.Entry))
		found = append(found, &Leak{Origin: origin, StartedByProgram: by, Goroutines: &last, Piled: s, Deepens: deepens})
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := &found[i].Origin, &found[j].Origin
		return cmp.Or(cmp.Compare(a.Entry, b.Entry), cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.CreatedBy, b.CreatedBy), cmp.Compare(a.Started, b.Started)) < 0
	})
	return found
}

// pileOf returns the pile of goroutines that a root is a variable of, or nil. Stack traces and
// reports name generic functions differently, but agree on the position of the go statement. If one
// go statement started several piles, pileOf prefers those with the variable's function on the
// stack, then the largest.
func pileOf(leaks []*Leak, root *tree.Branch) *Leak {
	var found *Leak
	rank := func(l *Leak) (on bool, grown int64) {
		return l.Goroutines.IsOn(root.Root.Func), l.Piled.Grown()
	}
	for _, l := range leaks {
		if l.Goroutines == nil || l.Origin.CreatedAt == "" || root.Root.CreatedAt != l.Origin.CreatedAt {
			continue
		}
		if found == nil {
			found = l
			continue
		}
		on, grown := rank(l)
		if best, most := rank(found); on && !best || on == best && grown > most {
			found = l
		}
	}
	return found
}

// SeriesOf is the series of a leak over all snapshots so far.
func (f *Finder) SeriesOf(l *Leak) series.Series {
	switch {
	case l.IsResource():
		return f.ResourceSeries(l.Resources[0])
	case l.Deepens:
		return f.FramesOf(l.Origin)
	case l.Goroutines != nil:
		return f.GoroutinesOf(l.Origin)
	case l.Moves:
		return f.OfType(l.Heads[0].Typ)
	case l.CountsTimers():
		return f.TimersOf(l.Heads[0].Parent)
	}
	return f.Measured(l.Heads[0], l.Measure)
}

// InUseOf is SeriesOf without bytes that are not in use: an array that was emptied has left its
// place.
func (f *Finder) InUseOf(l *Leak) series.Series {
	if l.Measure == InBytes && len(l.Heads) > 0 && l.Goroutines == nil {
		return f.Measured(l.Heads[0], InUse)
	}
	return f.SeriesOf(l)
}
