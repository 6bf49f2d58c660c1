package leakcheck

import (
	"cmp"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// A growth is what grew with each batch.
type growth struct {
	forest forest // what was added from the first snapshot to the last
	leaks  []*leak
	kept   []string // what grows and is kept on purpose
}

// A leak is what grows at one root, or with the goroutines of one origin.
type leak struct {
	heads   []*branch // topmost branches that grow, the largest first
	own     series    // of the first head
	measure measure   // of own
	total   tally     // of the heads and all below them

	origin     goroutineOrigin
	goroutines *goroutines // nil if no goroutines pile up
	piled      series
}

func (g *growth) none() bool { return len(g.leaks) == 0 }

// growth compares the snapshots so far.
func (x *experiment) growth() *growth {
	all := make([]map[growthKey]figures, len(x.moments))
	for i, m := range x.moments {
		all[i] = m.figures()
	}
	g := &growth{forest: x.last().forest.growth(x.first().forest)}
	j := judgement{x: x, figures: all, kept: make(map[*retainer][]*branch)}
	leaks := x.piles()
	for _, root := range g.forest {
		l := leakOf(leaks, root)
		heads := j.heads(root, l != nil)
		if len(heads) == 0 {
			continue
		}
		if l == nil {
			l = &leak{}
			leaks = append(leaks, l)
		}
		l.heads = append(l.heads, heads...)
	}
	for _, l := range leaks {
		slices.SortStableFunc(l.heads, func(a, b *branch) int {
			return cmp.Or(-compareTallies(objectsOf, a.total, b.total), cmp.Compare(a.path, b.path))
		})
		l.sum()
		if len(l.heads) > 0 {
			l.own, l.measure = j.seriesOf(l.heads[0])
		}
	}
	slices.SortStableFunc(leaks, func(a, b *leak) int {
		return cmp.Or(cmp.Compare(a.rank(x.env), b.rank(x.env)), cmp.Compare(b.weight(), a.weight()))
	})
	g.leaks = leaks
	for _, branches := range j.kept {
		_, hidden := x.env.keptOnPurpose(branches)
		for _, k := range hidden {
			g.kept = append(g.kept, k.String())
		}
	}
	slices.Sort(g.kept)
	return g
}

// sum adds up the heads with all below them, and the bytes of what they lie in, such as the tables of
// a map.
func (l *leak) sum() {
	holders := make(map[*branch]bool)
	for _, h := range l.heads {
		l.total = l.total.plus(h.total)
		for b := h.parent; b != nil && !holders[b]; b = b.parent {
			holders[b] = true
			l.total.bytes += b.bytes
		}
	}
}

func objectsOf(t tally) int64 { return t.objects }

func bytesOf(t tally) int64 { return t.bytes }

// piles returns a leak for each origin of goroutines that pile up.
func (x *experiment) piles() []*leak {
	var found []*leak
	for origin, last := range x.last().goroutines {
		s := x.series(func(m *moment, _ int) int64 { return m.goroutines[origin].count })
		if s.countsKeepPace() {
			found = append(found, &leak{origin: origin, goroutines: &last, piled: s})
		}
	}
	slices.SortFunc(found, func(a, b *leak) int {
		return cmp.Or(cmp.Compare(a.origin.entry, b.origin.entry), cmp.Compare(a.origin.createdAt, b.origin.createdAt), cmp.Compare(a.origin.createdBy, b.origin.createdBy))
	})
	return found
}

// leakOf returns the pile of goroutines that a root is a variable of, or nil. Names of generic functions
// differ between stack traces and reports; the place of the go statement does not.
func leakOf(leaks []*leak, root *branch) *leak {
	for _, l := range leaks {
		if l.goroutines != nil && l.origin.createdAt != "" && root.root.CreatedAt == l.origin.createdAt {
			return l
		}
	}
	return nil
}

func (x *experiment) series(value func(m *moment, i int) int64) series {
	s := series{calls: make([]int64, len(x.moments)), values: make([]int64, len(x.moments))}
	for i, m := range x.moments {
		s.calls[i], s.values[i] = m.calls, value(m, i)
	}
	return s
}

// A judgement tells which branches grow with each batch.
type judgement struct {
	x       *experiment
	figures []map[growthKey]figures // of each moment
	kept    map[*retainer][]*branch // what grows but is kept on purpose
}

// seriesOf returns the series that a branch grows in: that of its objects if they do, else that of a
// map's entries, or of other memory's bytes. How many bytes a map has for its entries is chance.
func (j judgement) seriesOf(b *branch) (series, measure) {
	key := b.growthKey()
	of := func(m measure) series {
		return j.x.series(func(_ *moment, i int) int64 { return j.figures[i][key][m] })
	}
	if s := of(inObjects); s.countsKeepPace() {
		return s, inObjects
	}
	if strings.HasPrefix(b.typ, "map[") || isTrie(b.typ) {
		return of(inEntries), inEntries
	}
	return of(inBytes), inBytes
}

// heads returns the topmost branches whose objects grow, and those whose entries or bytes do where no
// objects above or below them do. What hangs at goroutines that pile up counts whatever it is.
func (j judgement) heads(b *branch, piled bool) []*branch {
	s, m := j.seriesOf(b)
	grows := s.keepsPace(m) && !b.belongsToGoroutine()
	if grows && !piled {
		if r := j.x.env.retainerOf(b); r != nil && r.grows {
			grows = false
			j.kept[r] = append(j.kept[r], b)
		}
	}
	if grows && m == inObjects {
		return []*branch{b}
	}
	var below []*branch
	objects := false
	for _, c := range b.children {
		for _, h := range j.heads(c, piled) {
			_, m := j.seriesOf(h)
			objects = objects || m == inObjects
			below = append(below, h)
		}
	}
	if grows && !objects {
		return []*branch{b}
	}
	return below
}

// rank says how likely a leak is the program's fault: 0 for what the program keeps, 1 for the test, and 2 for the
// standard library, which as a rule keeps what it was given.
func (l *leak) rank(env *environment) int {
	if l.goroutines != nil || len(l.heads) == 0 {
		return 0
	}
	root := l.heads[0].line()[0]
	switch {
	case isTestFrame(root.root) || isOpRoot(root):
		return 1
	case env.isStandard(root.root.Package), isSpecial(root.root) && !env.mentionsProgram(root.name) && !env.mentionsProgram(l.heads[0].typ):
		return 2
	}
	return 0
}

// isSpecial reports whether a root is what finalizers or cleanups keep. Who set them shows in what they keep only.
func isSpecial(info *refscan.RootInfo) bool {
	return info.Kind == refscan.RootFinalizer || info.Kind == refscan.RootCleanup
}

// weight is about the memory of a leak. A goroutine has a stack of 2 KiB at least.
func (l *leak) weight() int64 {
	w := l.total.bytes
	if l.goroutines != nil {
		w += 2048 * l.piled.grown()
	}
	return w
}

// records is the growth as the record has it. A leak goes by what the message is headed with, the topmost branch that
// grows or the goroutines' function, and counts those: what most of the memory below is differs between Go versions. Its bytes are all
// that is below.
func (g *growth) records(a *assertion) []verdict.Bound {
	var bs []verdict.Bound
	for i, f := range g.findings() {
		b, l := a.boundRecord(&f, verdict.Fail), g.leaks[i]
		switch {
		case l.goroutines != nil:
			b.Path, b.Type, b.Objects = unescapePath(l.origin.entry), "goroutine", l.piled.grown()
		case l.measure == inObjects:
			b.Path, b.Type, b.Objects = l.heads[0].path, l.heads[0].typ, l.own.grown()
		default:
			b.Path, b.Type = l.heads[0].path, l.heads[0].typ
		}
		bs = append(bs, b)
	}
	return bs
}

// findings is the growth as bounds that it breaks.
func (g *growth) findings() []finding {
	var fs []finding
	for _, l := range g.leaks {
		shown := "AssertNoGrowth"
		if l.goroutines != nil {
			shown += ": goroutines of " + unescapePath(l.origin.entry)
		} else {
			shown += ": " + l.heads[0].path
		}
		b := Bound{selector: Selector{kind: selectPath, shown: shown}}
		if l.measure == inBytes {
			b = b.MaxBytes(0)
		} else {
			b = b.MaxObjects(0)
		}
		fs = append(fs, finding{bound: &b, found: l.total, culprits: l.heads, broken: true})
	}
	return fs
}
