package leakcheck

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/golden"
)

// An evaluation is what one observation says about a request.
type evaluation struct {
	obs      *observation
	forest   forest // what counts: in scope, not ignored, beyond the baseline
	ignored  []ignored
	findings []finding // bounds
	problems []string  // misuse that only the report shows: names that do not exist
	notes    []string  // for the log
	golden   *comparison

	goroutines *goroutineSight      // nil if no option is about goroutines
	cutLines   []golden.Measurement // of the golden file, on what cutting would free
}

// A finding is what was found for one bound.
type finding struct {
	bound    *Bound
	found    tally
	culprits []*branch // what counts towards it, the largest first
	broken   bool
	cut      *cutFinding // nil unless the bound has a cutLimit
}

// add adds what was seen of goroutines, if anything was asked about them.
func (e *evaluation) add(sight *goroutineSight) {
	if sight == nil {
		return
	}
	e.goroutines = sight
	e.problems = append(e.problems, sight.problems...)
	e.notes = append(e.notes, sight.notes...)
}

// broken counts the bounds that do not hold, of all, and says what the first is broken by.
func (e *evaluation) broken() (broken, all int, first string) {
	note := func(isBroken bool, says func() string) {
		all++
		if !isBroken {
			return
		}
		if broken++; broken == 1 {
			first = says()
		}
	}
	for i := range e.findings {
		f := &e.findings[i]
		note(f.broken, func() string { return f.bound.String() + ": " + f.amount() })
	}
	if e.goroutines != nil {
		for _, f := range e.goroutines.findings {
			note(f.broken, func() string { return f.shown + ": " + f.amount })
		}
	}
	return broken, all, first
}

func (e *evaluation) ok() bool {
	if broken, _, _ := e.broken(); broken > 0 {
		return false
	}
	return len(e.problems) == 0 && (e.golden == nil || e.golden.ok())
}

// evaluate applies scope, ignores and baseline to an observation, and looks at the bounds.
func evaluate(obs *observation, r *request, s scope, env *environment) *evaluation {
	e := &evaluation{obs: obs, notes: slices.Clone(obs.logs)}
	everything := growForest(obs.report)
	now, left := applyIgnores(everything.keep(s), r.ignores)
	e.ignored = left
	e.noteIgnores()
	e.forest = now
	var base forest
	if r.baseline != nil {
		base, _ = applyIgnores(r.baseline.forest.keep(s), r.ignores)
		e.forest = now.growth(base)
	}
	for _, ps := range r.scope {
		if !(&scope{packages: []packages{ps}}).includesAny(everything) && !ps.known(obs.names) {
			e.problems = append(e.problems, fmt.Sprintf("Scope(%q): the program has no such package", ps[0].text))
		}
	}
	for _, b := range r.bounds {
		if problem := nothingMeant(b, s, everything, obs.names); problem != "" && obs.report.Unnamed() == nil {
			e.problems = append(e.problems, problem)
			continue
		}
		selected := b.selector.selects(now)
		if b.selector.byType() && len(r.scope) == 0 {
			var hidden []kept
			selected, hidden = env.keptOnPurpose(selected)
			for _, k := range hidden {
				e.notes = append(e.notes, b.String()+": "+k.String())
			}
		}
		f := finding{bound: b, found: b.selector.sum(selected)}
		if r.baseline != nil {
			before := b.selector.selects(base)
			if b.selector.byType() && len(r.scope) == 0 {
				before, _ = env.keptOnPurpose(before)
			}
			f.found = f.found.beyond(b.selector.sum(before))
		}
		f.broken = b.broken(f.found.objects, f.found.bytes)
		if r.baseline != nil {
			selected = b.selector.selects(e.forest)
		}
		f.culprits = f.rank(selected)
		if b.selector.kind == selectPath && len(b.selector.selects(everything)) == 0 {
			e.notes = append(e.notes, fmt.Sprintf("%s: its root exists, but nothing is retained at that path now", b))
		}
		e.findings = append(e.findings, f)
	}
	e.noteUnnamed()
	if r.cuts != nil {
		r.cuts.evaluate(e, r, s, everything, env)
	}
	return e
}

func (s *scope) includesAny(f forest) bool {
	return slices.ContainsFunc(f, func(b *branch) bool { return s.includes(b.root) })
}

// nothingMeant returns what is wrong with a bound whose selector means nothing at all, or "".
func nothingMeant(b *Bound, s scope, everything forest, names inventory) string {
	sel := b.selector
	if meant := sel.selects(everything); len(meant) > 0 {
		if sel.byType() || s.includesAny(meant) {
			return ""
		}
		return fmt.Sprintf("%s: %s lies outside of the Scope of this assertion", b, meant[0].path)
	}
	if sel.known(names) {
		return ""
	}
	if sel.byType() {
		return fmt.Sprintf("%s: the program has no such type%s", b, didYouMean(sel.types.pattern.text, names.TypeNames(), objectType)) +
			"\n    (Type[T]() is checked by the compiler)"
	}
	return fmt.Sprintf("%s: the program has no package variable or function of that name%s", b, didYouMean(sel.path.text, names.RootNames(), unescapePath)) +
		"\n    (the linker drops variables that nothing uses)"
}

func didYouMean(written string, names []string, clean func(string) string) string {
	cleaned := make([]string, len(names))
	for i, n := range names {
		cleaned[i] = clean(n)
	}
	if own := inPackageMain(written, cleaned); own != "" {
		return "; did you mean " + own + "? (in a test, package main goes by its import path)"
	}
	near := suggest(written, cleaned)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, ", ") + "?"
}

// objectType returns the name of the type that a pointer type points to in the end.
func objectType(name string) string { return strings.TrimLeft(cleanType(name), "*") }

func (e *evaluation) noteIgnores() {
	for _, i := range e.ignored {
		if i.paths == 0 {
			e.notes = append(e.notes, fmt.Sprintf("Ignore(%q) matched nothing; it can be deleted", i.pattern.text))
		} else {
			e.notes = append(e.notes, "ignored: "+i.String())
		}
	}
}

// weight is what of a tally a broken bound is about: objects if there are too many, else bytes.
func (f *finding) weight(t tally) int64 {
	if b := f.bound; b.maxObjects != nil && f.found.objects > *b.maxObjects {
		return t.objects
	}
	return t.bytes
}

// rank returns the branches that hold something, the largest first.
func (f *finding) rank(branches []*branch) []*branch {
	var some []*branch
	for _, b := range branches {
		if f.bound.selector.figures(b) != (tally{}) {
			some = append(some, b)
		}
	}
	sort.SliceStable(some, func(i, j int) bool {
		a, b := some[i], some[j]
		if c := compareTallies(f.weight, f.bound.selector.figures(b), f.bound.selector.figures(a)); c != 0 {
			return c < 0
		}
		return a.path < b.path
	})
	return some
}
