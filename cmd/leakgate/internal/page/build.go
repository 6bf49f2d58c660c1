package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
)

// maxPageNodes bounds, roughly, the nodes of all trees of a page together. Once it is exceeded, the
// trees of the remaining, least important assertions are left out, and the page says so.
const maxPageNodes = 1_000_000

// A Builder makes the data of a page.
type Builder struct {
	Run     *outcome.Run
	Dir     artifacts.Folder // of its artifacts
	Base    *outcome.Run     // what to compare with; nil: nothing
	BaseDir artifacts.Folder

	Repository *Repository // nil: no source is shown

	data  Data
	texts texts
	nodes int
}

// Build returns the data of a page about a run. A profile that cannot be read is a note on the
// page.
func (b *Builder) Build() *Data {
	r := b.Run
	b.data = Data{
		Title: "leakgate: " + string(r.Outcome), Leakgate: r.Leakgate, GoVersion: r.GoVersion, Command: r.Command,
		Outcome: string(r.Outcome), Elapsed: r.ElapsedSeconds, Problems: r.Problems, Notes: r.Notes,
		Failed: r.Totals.Fail, Unknown: r.Totals.Unknown, Passed: r.Totals.Pass, Known: r.Totals.Known,
	}
	if r.Base != nil {
		b.data.Base = fmt.Sprintf("%s (%.12s)", r.Base.Name, r.Base.Commit)
	}
	type entry struct {
		p *outcome.Package
		a *outcome.Assertion
	}
	var all []entry
	for _, p := range r.Packages {
		for _, a := range p.Assertions {
			all = append(all, entry{p, a})
		}
		for _, f := range p.Failures {
			if f.Kind == outcome.KindOther {
				name := p.ImportPath
				if f.Test != "" {
					name += "." + f.Test
				}
				b.data.Failures = append(b.data.Failures, Failure{name, f.Output})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y entry) int { // the worst first
		return cmp.Or(cmp.Compare(rank(x.a), rank(y.a)), cmp.Compare(excess(y.a), excess(x.a)))
	})
	for _, e := range all {
		b.data.Assertions = append(b.data.Assertions, b.assertion(e.p, e.a))
	}
	return b.finish()
}

// Profile returns the data of a page about a profile alone.
func Profile(p *profile.Profile, title, leakgate string) (*Data, error) {
	b := &Builder{data: Data{Title: title, Leakgate: leakgate}}
	a := &Assertion{Test: title}
	if !b.profileView(a, p, nil, "retained", "Profile", "") {
		return nil, fmt.Errorf("the profile has no values in bytes or in a count")
	}
	b.data.Assertions = []*Assertion{a}
	return b.finish(), nil
}

func (b *Builder) finish() *Data {
	b.data.Texts = b.texts.list
	return &b.data
}

// rank orders assertions by how bad they are: 0 is the worst.
func rank(a *outcome.Assertion) int {
	switch {
	case a.Verdict == verdict.Fail && !a.Known && !a.Misuse:
		return 0
	case a.Verdict == verdict.Fail && a.Misuse:
		return 1
	case a.Verdict == verdict.Unknown:
		return 2
	case a.Verdict == verdict.Fail:
		return 3
	}
	return 4
}

// excess returns the bytes of the largest finding of an assertion, or else all that it retains.
func excess(a *outcome.Assertion) (bytes int64) {
	for _, f := range a.Findings {
		bytes = max(bytes, f.Bytes)
	}
	return cmp.Or(bytes, a.RetainedBytes)
}

func (b *Builder) assertion(p *outcome.Package, a *outcome.Assertion) *Assertion {
	out := &Assertion{
		Package: p.ImportPath, Test: a.Test, Seq: a.Seq, Verdict: string(a.Verdict), Misuse: a.Misuse,
		Message: a.Message, Cause: a.Cause, Remedy: a.Remedy, Live: a.Totals.LiveBytes, LiveBefore: a.LiveBefore,
		Objects: a.RetainedObjects, Bytes: a.RetainedBytes, PauseNS: a.PauseNS, ScanNS: a.ScanNS,
	}
	if a.Known {
		out.Verdict = "known"
	}
	out.Place = b.Repository.place(p.Dir, a.File, a.Line)
	broken := make(map[[2]string]verdict.Bound)
	for _, b := range a.Bounds {
		if b.Verdict == verdict.Fail {
			broken[[2]string{b.Selector, b.Path}] = b
		} else {
			out.Bounds = append(out.Bounds, b)
		}
	}
	if a.Golden != nil {
		for _, b := range a.Golden.Broken {
			broken[[2]string{b.Selector, b.Path}] = b
		}
		out.Golden = &verdict.Golden{File: a.Golden.File, Status: a.Golden.Status, Diff: a.Golden.Diff}
	}
	for _, f := range a.Findings {
		bound := broken[[2]string{f.Selector, f.Path}]
		out.Findings = append(out.Findings, Finding{f, b.Repository.place("", f.File, f.Line), bound.HeldBy, bound.Chain, bound.AlsoHeldBy})
	}
	switch {
	case len(a.Artifacts) == 0:
		out.Missing = "no tree was kept: leakgate run keeps those of assertions that fail, with -artifacts all of all"
	case b.nodes > maxPageNodes:
		out.Missing = "left out, since the page has as much as a browser shows fluently: leakgate view -test " + a.Test
	default:
		b.views(out, a)
	}
	return out
}

// views adds the trees of an assertion.
func (b *Builder) views(out *Assertion, a *outcome.Assertion) {
	var errs []string
	read := func(kind string) *profile.Profile {
		if a.Artifacts[kind] == "" {
			return nil
		}
		p, err := b.Dir.Profile(a.Artifacts[kind])
		if err != nil {
			errs = append(errs, err.Error())
		}
		return p
	}
	f := b.Find(a)
	errs = append(errs, f.Problems...)
	if r := f.Report; r != nil {
		retained := View{Kind: "retained", Title: "What is retained", Tree: b.add(ofReport(r, modulesOf(a)))}
		types := View{Kind: "types", Title: "Types", Tree: b.add(ofTypes(r))}
		if f.Before != nil {
			x, y := b.add(ofReport(f.Before, modulesOf(f.before))), b.add(ofTypes(f.Before))
			retained.Before, types.Before = &x, &y
			retained.BeforeTitle, types.BeforeTitle = f.Title, f.Title
		}
		out.Views = append(out.Views, retained, types)
		if f.Native != nil {
			out.Views = append(out.Views, View{Kind: "native", Title: "Native blocks", Tree: b.add(ofReport(f.Native, modulesOf(a)))})
		}
	}
	for _, k := range []struct{ kind, before, title, beforeTitle string }{
		{"allocations", "", "Where it was allocated", ""},
		{"heap", "heap.base", "Heap profile", "baseline"},
		{"goroutine", "", "Goroutines", ""},
		{"stack", "", "Stack memory", ""},
	} {
		if p := read(k.kind); p != nil {
			b.profileView(out, p, read(k.before), k.kind, k.title, k.beforeTitle)
		}
	}
	if len(out.Views) == 0 || len(errs) > 0 {
		out.Missing = strings.Join(append([]string{"no tree can be shown"}, errs...), "; ")
		if len(out.Views) > 0 {
			out.Missing = strings.Join(errs, "; ")
		}
	}
}

// profileView adds the tree of a profile, and reports whether it has anything that can be shown.
func (b *Builder) profileView(out *Assertion, p, before *profile.Profile, kind, title, beforeTitle string) bool {
	objects, bytes := ValueIndex(p, "count"), ValueIndex(p, "bytes")
	if objects < 0 && bytes < 0 {
		return false
	}
	var units []string
	if objects >= 0 {
		units = append(units, "objects")
	}
	if bytes >= 0 {
		units = append(units, "bytes")
	}
	v := View{Kind: kind, Title: title, Tree: b.add(ofProfile(p, objects, bytes), units...)}
	if before != nil {
		n := b.add(ofProfile(before, ValueIndex(before, "count"), ValueIndex(before, "bytes")), units...)
		v.Before, v.BeforeTitle = &n, beforeTitle
	}
	out.Views = append(out.Views, v)
	return true
}

// ValueIndex returns the index of the sample type with a unit, "bytes" or "count"; of several, that
// of memory in use or the profile's default; -1 if there is none.
func ValueIndex(p *profile.Profile, unit string) int {
	found := -1
	for i, t := range p.SampleType {
		if t.Unit == unit && (found < 0 || strings.HasPrefix(t.Type, "inuse_") || t.Type == p.DefaultSampleType) {
			found = i
		}
	}
	return found
}

func (b *Builder) add(top *node, units ...string) int {
	if len(units) == 0 {
		units = []string{"objects", "bytes"}
	}
	t := top.columns(&b.texts, units...)
	b.nodes += len(t.Names)
	b.data.Trees = append(b.data.Trees, t)
	return len(b.data.Trees) - 1
}

// modulesOf returns the modules of the program that made an assertion.
func modulesOf(a *outcome.Assertion) *symbol.Modules { return symbol.NamedModules(a.Modules) }
