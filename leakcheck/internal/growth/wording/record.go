package wording

import (
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// Records is the growth for the record of the verdict. A leak has the name that heads the message,
// of the topmost branch that grows or of the goroutines' function, and the number of these objects
// or goroutines: which branch below has most of the memory differs between Go versions. Its bytes
// are those of everything below.
func (w *Wording) Records(g *finding.Growth, a *assertion.Assertion) []verdict.Bound {
	var bs []verdict.Bound
	for i, f := range findings(g) {
		b, l := a.BoundRecord(&f, verdict.Fail, w.Last().Eval.Observation), g.Leaks[i]
		if len(l.Heads) > 0 {
			b.HeldBy, b.Chain = append(w.growthHeldBy(l.Heads[0], l), w.usualCause(l)...), message.Chain(trace(l))
		}
		b.Growth, b.Holder, b.PerCall = leakRate(l), w.holderOf(l), l.PerCall()
		switch {
		case len(l.Resources) == 0 || l.IsResource():
		case l.Goroutines != nil:
			b.Growth += ", with " + resourceRates(l)
		default:
			b.Growth = resourceRates(l) + ", with " + b.Growth
		}
		for _, r := range l.Resources {
			b.Resources = append(b.Resources, recordOf(r))
		}
		switch {
		case l.IsResource():
			b.Kind = verdict.Resources
			b.Path, b.Type, b.Objects = l.Resources[0].Name, l.Resources[0].Kind.String(), l.Resources[0].Amount()
		case l.Goroutines != nil:
			b.Path, b.Type, b.Objects = symbol.Unescape(l.Origin.Entry), "goroutine", l.Piled.Grown()
		case l.Measure == finding.InObjects:
			b.Path, b.Type, b.Objects = l.Heads[0].Path, l.Heads[0].Typ, l.Own.Grown()
		default:
			b.Path, b.Type = l.Heads[0].Path, l.Heads[0].Typ
		}
		bs = append(bs, b)
	}
	return bs
}

// findings returns the growth as broken bounds.
func findings(g *finding.Growth) []check.Finding {
	var fs []check.Finding
	none := int64(0)
	for _, l := range g.Leaks {
		shown := "AssertNoGrowth"
		switch {
		case l.IsResource():
			shown += ": " + l.Resources[0].Name
		case l.Goroutines != nil:
			shown += ": goroutines of " + symbol.Unescape(l.Origin.Entry)
		default:
			shown += ": " + l.Heads[0].Path
		}
		f := check.Finding{
			Shown: shown, Broken: true, Heap: check.Heap{Culprits: l.Heads, Below: true, Weight: tree.BytesOf},
			Record: verdict.Bound{Kind: verdict.Growth, Selector: shown, Objects: l.Total.Objects, Bytes: l.Total.Bytes},
		}
		if l.Measure == finding.InBytes || l.Measure == finding.InUse {
			f.Record.MaxBytes = &none
		} else {
			f.Record.MaxObjects = &none
		}
		if f.Record.MaxObjects != nil && l.Total.Objects > 0 {
			f.Weight = tree.ObjectsOf
		}
		fs = append(fs, f)
	}
	return fs
}

// recordOf is the resource for the record of the verdict.
func recordOf(r *finding.Resource) verdict.Resource {
	rec := verdict.Resource{Kind: r.Kind.String(), Name: r.Name, State: r.State, Growth: resourceRate(r), Added: r.Own.Grown()}
	if r.Holder != nil {
		rec.Holder = r.Holder.Path
	}
	return rec
}

// maxHolds bounds how many types of a goroutine's variables a record lists.
const maxHolds = 8

// holderAt describes the root of a branch, and what lies on the way.
func holderAt(b *tree.Branch) *verdict.Holder {
	line := b.Line()
	root := line[0]
	h := &verdict.Holder{
		Kind: string(root.Root.Kind), Root: root.Name, Package: root.Root.Package, Type: root.Typ,
		Test:      tree.IsTestFrame(root.Root) || tree.IsHeldOp(root),
		CreatedBy: symbol.Unescape(root.Root.CreatedBy), CreatedAt: root.Root.CreatedAt,
		Goroutines: root.Root.Goroutines,
	}
	for i, b := range line {
		if pkg := symbol.Package(b.Typ); i < len(line)-1 && pkg != "" && !slices.Contains(h.Within, pkg) {
			h.Within = append(h.Within, pkg)
		}
		for pkg, name := range naming.NamedTypes(b.Typ) {
			if typ := pkg + "." + name; !slices.Contains(h.Types, typ) {
				h.Types = append(h.Types, typ)
			}
			if !slices.Contains(h.Packages, pkg) {
				h.Packages = append(h.Packages, pkg)
			}
		}
	}
	return h
}

// holderOf describes the holder of a leak, so that readers can sort leaks by their owners.
func (w *Wording) holderOf(l *finding.Leak) *verdict.Holder {
	h, made := &verdict.Holder{}, ""
	if len(l.Heads) > 0 {
		h = holderAt(l.Heads[0])
		if l.Goroutines == nil {
			h.Text = w.growthHeldBy(l.Heads[0], l)[0]
		}
		if also, held, all := message.SecondHolder(trace(l), w.Last().Eval.Observation); also != nil && l.Goroutines == nil && 4*held >= 3*all {
			end := message.Deepest(also)
			h.Also = holderAt(end)
			h.Also.Path, h.Also.File, h.Also.Line = end.Path, also.Root.File, also.Root.Line
		}
	}
	if l.IsResource() {
		h.Kind, h.Root = "resource", l.Resources[0].Name
		made = l.Resources[0].Kind.String()
	} else if len(l.Heads) > 0 {
		made = l.Heads[0].Line()[0].Name
	}
	h.Made, h.Filled = making(w, l)
	if h.Filled != nil && len(l.Heads) > 0 {
		if c := l.Container(); c != nil {
			h.Container = c.Typ
		}
	}
	if !l.IsResource() {
		for _, cause := range w.usualCause(l) {
			h.Cause = strings.TrimPrefix(cause, message.CausePrefix)
		}
	}
	// Makers are known by kind or registry. Among them, a test's own does not excuse the others.
	for _, by := range w.Makers[made] {
		if h.CreatedAt == "" || strings.Contains(h.CreatedAt, "_test.go:") {
			h.CreatedBy, h.CreatedAt = symbol.Unescape(by.Function), by.At
		}
	}
	if l.Goroutines == nil {
		return h
	}
	entry := symbol.Unescape(l.Origin.Entry)
	h.Kind, h.Root, h.Package, h.Type, h.Test, h.Goroutines = "goroutine", entry, symbol.Package(entry), "", false, 0
	h.CreatedBy, h.CreatedAt = symbol.Unescape(l.Origin.CreatedBy), l.Origin.CreatedAt
	for _, head := range l.Heads {
		if typ := head.Line()[0].Typ; typ != "" && !slices.Contains(h.Holds, typ) && len(h.Holds) < maxHolds {
			h.Holds = append(h.Holds, typ)
		}
	}
	h.State = l.Goroutines.State
	for i, c := range l.Goroutines.Calls {
		if c.Function == l.Origin.Entry {
			h.At = c.At
		}
		if i >= len(l.Goroutines.Calls)-l.Goroutines.Outer {
			h.Runs = append(h.Runs, verdict.Call{Function: c.Function, At: c.At})
		}
	}
	return h
}
