package growth

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/heldop"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A growth is what grew with each batch.
type growth struct {
	forest tree.Forest // what was added from the first snapshot to the last
	leaks  []*leak
	kept   []string // what grows and is kept on purpose
}

// A leak is what grows at one root, or with the goroutines of one origin.
type leak struct {
	heads   []*tree.Branch // topmost branches that grow, the largest first
	own     series         // of the first head
	measure measure        // of own
	total   tree.Tally     // of the heads and all below them
	moves   bool           // own counts all objects of the first head's type, wherever they are

	origin     GoroutineOrigin
	goroutines *Goroutines // nil if no goroutines pile up
	piled      series

	startedByProgram bool // though no function of the program's is on their stacks

	with []*leak // those that come with it

	resources []*resource // of the operating system, that come with it or are it
}

func (g *growth) none() bool { return len(g.leaks) == 0 }

// hasMissed reports whether what the scans missed is among what grew.
func (g *growth) hasMissed() bool {
	return slices.ContainsFunc(g.leaks, func(l *leak) bool { return len(l.heads) > 0 && l.heads[0].IsMissed() })
}

// growth compares the snapshots so far.
func (x *Experiment) growth() *growth {
	g := &growth{forest: x.last().forest.Growth(x.first().forest)}
	j := judgement{x: x, kept: make(map[*tree.Retainer][]*tree.Branch)}
	leaks := x.piles()
	for _, root := range g.forest {
		l := pileOf(leaks, root)
		heads := j.heads(root, l != nil, nil)
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
		sort.SliceStable(l.heads, func(i, j int) bool {
			a, b := l.heads[i], l.heads[j]
			return cmp.Or(-tree.CompareTallies(tree.ObjectsOf, a.Total, b.Total), cmp.Compare(a.Path, b.Path)) < 0
		})
		l.sum()
		if len(l.heads) > 0 {
			l.own, l.measure = j.seriesOf(l.heads[0])
			if l.countsTimers() {
				l.own = x.timersOf(l.heads[0].Parent)
			}
		}
	}
	if len(leaks) == 0 {
		if l := x.moving(g.forest); l != nil {
			leaks = append(leaks, l)
		}
	}
	sortLeaks := func(all []*leak) {
		sort.SliceStable(all, func(i, j int) bool {
			a, b := all[i], all[j]
			return cmp.Or(cmp.Compare(a.rank(x.Env), b.rank(x.Env)), cmp.Compare(b.weight(), a.weight())) < 0
		})
	}
	sortLeaks(leaks)
	g.leaks = x.addResources(x.fold(leaks))
	sortLeaks(g.leaks)
	var hidden []tree.Kept
	for r, branches := range j.kept {
		_, one := tree.Hide(branches, func(*tree.Branch) *tree.Retainer { return r })
		hidden = append(hidden, one...)
	}
	g.kept = tree.NotesOf(hidden)
	return g
}

// sum adds up the heads with all below them, and the bytes of what they lie in, such as the tables
// of a map.
func (l *leak) sum() {
	holders := make(map[*tree.Branch]bool)
	for _, h := range l.heads {
		l.total = l.total.Plus(h.Total)
		for b := h.Parent; b != nil && !holders[b]; b = b.Parent {
			holders[b] = true
			l.total.Bytes += b.Bytes
		}
	}
}

// piles returns a leak for each origin of goroutines that pile up.
func (x *Experiment) piles() []*leak {
	var found []*leak
	for origin, last := range x.last().goroutines {
		s := x.goroutinesOf(origin)
		if s.countsKeepPace() {
			by := x.Env.IsProgram(symbol.Package(origin.CreatedBy)) && !x.Env.IsProgram(symbol.Package(origin.Entry))
			found = append(found, &leak{origin: origin, startedByProgram: by, goroutines: &last, piled: s})
		}
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := &found[i].origin, &found[j].origin
		return cmp.Or(cmp.Compare(a.Entry, b.Entry), cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.CreatedBy, b.CreatedBy), cmp.Compare(a.Started, b.Started)) < 0
	})
	return found
}

// pileOf returns the pile of goroutines that a root is a variable of, or nil. Names of generic
// functions differ between stack traces and reports; the place of the go statement does not. Of
// several piles that one go statement started, it is the largest with the variable's function on
// the stack.
func pileOf(leaks []*leak, root *tree.Branch) *leak {
	var found *leak
	rank := func(l *leak) (on bool, grown int64) {
		return l.goroutines.isOn(root.Root.Func), l.piled.grown()
	}
	for _, l := range leaks {
		if l.goroutines == nil || l.origin.CreatedAt == "" || root.Root.CreatedAt != l.origin.CreatedAt {
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

func (x *Experiment) series(value func(m *moment) int64) series {
	s := series{calls: make([]int64, len(x.moments)), values: make([]int64, len(x.moments))}
	for i, m := range x.moments {
		s.calls[i], s.values[i] = m.calls, value(m)
	}
	for _, m := range x.further {
		s.moreCalls, s.more = append(s.moreCalls, m.calls), append(s.more, value(m))
	}
	return s
}

// measured returns one figure of a branch at each snapshot.
func (x *Experiment) measured(b *tree.Branch, by measure) series {
	key := b.GrowthKey()
	return x.series(func(m *moment) int64 { return m.figures()[key][by] })
}

// goroutinesOf returns how many goroutines of an origin there were at each snapshot.
func (x *Experiment) goroutinesOf(origin GoroutineOrigin) series {
	return x.series(func(m *moment) int64 { return m.goroutines[origin].Count })
}

// timersOf returns how many timers of a root were pending at each snapshot.
func (x *Experiment) timersOf(root *tree.Branch) series {
	return x.series(func(m *moment) (timers int64) {
		for _, b := range m.forest {
			if b.Root.Kind == refscan.RootTimer && b.Name == root.Name {
				timers += b.Root.Timers
			}
		}
		return timers
	})
}

// A judgement tells which branches grow with each batch.
type judgement struct {
	x    *Experiment
	kept map[*tree.Retainer][]*tree.Branch // what grows but is kept on purpose
}

// seriesOf returns the series that a branch grows in: that of its objects if they do, else that of
// a map's entries, or of other memory's bytes. How many bytes a map has for its entries is chance.
func (j judgement) seriesOf(b *tree.Branch) (series, measure) {
	if s := j.x.measured(b, inObjects); s.countsKeepPace() || s.levelsOff() { // with what they take
		return s, inObjects
	}
	if strings.HasPrefix(b.Typ, "map[") || tree.IsTrie(b.Typ) {
		return j.x.measured(b, inEntries), inEntries
	}
	return j.x.measured(b, inBytes), inBytes
}

// heads returns the topmost branches whose objects grow, and those whose entries or bytes do where
// no objects above or below them do. What hangs at goroutines that pile up counts whatever it is.
// What hangs on records of package testing that grow is theirs as far as it grows with them, so on
// a function for each call of op that t.Cleanup has; not what grows on an object that many of these
// functions refer to: within is the record that the branch grows with.
func (j judgement) heads(b *tree.Branch, piled bool, within *tree.Retainer) []*tree.Branch {
	s, m := j.seriesOf(b)
	grows := s.keepsPace(m) && !b.BelongsToGoroutine()
	if b.IsMissed() {
		grows = m == inObjects && s.missedGrow()
	}
	if grows && !piled {
		if r := tree.RetainerOf(j.x.Env, b); r != nil && r.Grows {
			grows = false
			j.kept[r] = append(j.kept[r], b)
		}
	}
	if !grows {
		within = nil
	} else if within == nil {
		within = tree.TestingRecordOf(j.x.Env, b)
	}
	if within != nil {
		grows = false
		j.kept[within] = append(j.kept[within], b)
	}
	if grows && m == inObjects {
		return []*tree.Branch{b}
	}
	var below []*tree.Branch
	objects := false
	for _, c := range b.Children {
		for _, h := range j.heads(c, piled, within) {
			_, m := j.seriesOf(h)
			objects = objects || m == inObjects
			below = append(below, h)
		}
	}
	if grows && !objects {
		return []*tree.Branch{b}
	}
	return below
}

// rank says how likely a leak is the program's fault: 0 for what the program keeps, 1 for the test,
// and 2 for the standard library, which as a rule keeps what it was given; 3 for what package
// reflect keeps of the types that it made for others, who keep them, too.
func (l *leak) rank(env *environ.Environment) int {
	if l.goroutines != nil || len(l.heads) == 0 {
		return 0 // resources, too
	}
	root := l.heads[0].Line()[0]
	switch {
	case tree.IsTestFrame(root.Root) || heldop.IsRoot(root):
		if root.Root.Package == "testing" && l.total.Objects == 0 {
			return 2 // a list that a function of t.Cleanup goes by, of what it has to release
		}
		return 1
	case root.Name == message.ReflectNames || root.Root.Package == "reflect":
		return 3
	case env.Modules.IsStandard(root.Root.Package), message.IsSpecial(root.Root) && !env.MentionsProgram(root.Name) && !env.MentionsProgram(l.heads[0].Typ):
		return 2
	}
	return 0
}

// weight is about the memory of a leak and of those that come with it. A goroutine has a stack of 2
// KiB at least.
func (l *leak) weight() int64 {
	w := l.total.Bytes
	if l.goroutines != nil {
		w += 2048 * l.piled.grown()
	}
	for _, r := range l.resources {
		w += r.weight()
	}
	for _, with := range l.with {
		w += with.weight()
	}
	return w
}

// records is the growth as the record has it. A leak goes by what the message is headed with, the
// topmost branch that grows or the goroutines' function, and counts those: what most of the memory
// below is differs between Go versions. Its bytes are all that is below.
func (g *growth) records(a *assertion.Assertion) []verdict.Bound {
	var bs []verdict.Bound
	for i, f := range g.findings() {
		b, l := a.BoundRecord(&f, verdict.Fail), g.leaks[i]
		b.Growth, b.Holder = l.rate(), l.holder()
		switch {
		case len(l.resources) == 0 || l.isResource():
		case l.goroutines != nil:
			b.Growth += ", with " + l.resourceRates()
		default:
			b.Growth = l.resourceRates() + ", with " + b.Growth
		}
		for _, r := range l.resources {
			b.Resources = append(b.Resources, r.record())
		}
		switch {
		case l.isResource():
			b.Path, b.Type, b.Objects = l.resources[0].name, l.resources[0].kind.String(), l.resources[0].amount()
		case l.goroutines != nil:
			b.Path, b.Type, b.Objects = symbol.Unescape(l.origin.Entry), "goroutine", l.piled.grown()
		case l.measure == inObjects:
			b.Path, b.Type, b.Objects = l.heads[0].Path, l.heads[0].Typ, l.own.grown()
		default:
			b.Path, b.Type = l.heads[0].Path, l.heads[0].Typ
		}
		bs = append(bs, b)
	}
	return bs
}

// findings is the growth as bounds that it breaks.
func (g *growth) findings() []check.Finding {
	var fs []check.Finding
	none := int64(0)
	for _, l := range g.leaks {
		shown := "AssertNoGrowth"
		switch {
		case l.isResource():
			shown += ": " + l.resources[0].name
		case l.goroutines != nil:
			shown += ": goroutines of " + symbol.Unescape(l.origin.Entry)
		default:
			shown += ": " + l.heads[0].Path
		}
		f := check.Finding{
			Shown: shown, Broken: true, Culprits: l.heads, Below: true, Weight: tree.BytesOf,
			Record: verdict.Bound{Selector: shown, Objects: l.total.Objects, Bytes: l.total.Bytes},
		}
		if l.measure == inBytes {
			f.Record.MaxBytes = &none
		} else {
			f.Record.MaxObjects = &none
		}
		if f.Record.MaxObjects != nil && l.total.Objects > 0 {
			f.Weight = tree.ObjectsOf
		}
		fs = append(fs, f)
	}
	return fs
}
