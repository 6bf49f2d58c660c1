package message

import (
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// Places returns the places whose other holders the message about an evaluation shows.
func Places(e *check.Evaluation) []observe.Place {
	var traces []*tree.Trace
	for i := range e.Findings {
		if f := &e.Findings[i]; f.Broken && len(f.Culprits) > 0 && f.Line == nil && len(traces) < MaxTraced {
			traces = append(traces, f.Trace())
		}
	}
	if f := e.WorstLine(); f != nil && len(f.Culprits) > 0 {
		traces = append(traces, f.Trace())
	}
	return PlacesOf(traces)
}

// PlacesOf returns the places at which traces spread: see tree.Trace.Spread.
func PlacesOf(traces []*tree.Trace) []observe.Place {
	var places []observe.Place
	for _, t := range traces {
		if b := t.Spread(); b != nil {
			places = append(places, placeOf(t, b))
		}
	}
	return places
}

func placeOf(t *tree.Trace, b *tree.Branch) observe.Place {
	return observe.Place{Path: b.ReportPath(), Typ: b.Typ, Of: t.Of}
}

const forExample = "for example "

// AlsoHeldBy shows, by what is in them, some of the objects at which a trace spreads, and says who
// else holds a large part of them: at least a quarter.
func AlsoHeldBy(t *tree.Trace, obs *observe.Observation, env *environ.Environment) (lines []string) {
	if b := t.Spread(); b != nil && !env.NoExamples {
		if held := obs.AlsoHeld[placeOf(t, b)]; held != nil && held.Examples != "" {
			lines = []string{forExample + TypeText(b) + " " + held.Examples}
		}
	}
	holder, held, all := SecondHolder(t, obs)
	if holder == nil {
		return lines
	}
	objects := textfmt.CountNoun(all, "object")
	what := textfmt.Count(held) + " of the " + objects + " are"
	switch {
	case all == 1:
		what = "it is"
	case held >= all:
		what = "all " + objects + " are"
	}
	by := "held by the same root on another path"
	if holder.Name != t.Branches[0].Name {
		by = HeldBy(holder, env)[0]
	}
	lines = append(lines, "", "cutting that is not enough, "+what+" also "+by)
	if holder = Deepest(holder); holder.Parent != nil {
		lines = append(lines, "   at "+textfmt.Abridge(holder.Path, MaxNameShown))
	}
	return lines
}

// SecondHolder returns the root that holds most of what else holds the objects at which a trace
// spreads, how many something else holds, and how many there are; nil if those are less than a
// quarter.
func SecondHolder(t *tree.Trace, obs *observe.Observation) (holder *tree.Branch, held, all int64) {
	b := t.Spread()
	if b == nil {
		return nil, 0, 0
	}
	others := obs.AlsoHeld[placeOf(t, b)]
	if others == nil || others.Holder == nil || 4*others.Objects < b.Objects {
		return nil, 0, 0
	}
	holder = tree.NewBranch(others.Holder, nil, others.Holder.Root)
	if holder == nil || OneCall(t.Branches, Deepest(holder).Line()) {
		return nil, 0, 0
	}
	if holder.Root.Kind == refscan.RootOther && holder.Root.Package == "runtime" {
		return nil, 0, 0 // other code holds the objects that the runtime has a record of
	}
	return holder, others.Objects, b.Objects
}

// Deepest returns the end of a path without forks.
func Deepest(b *tree.Branch) *tree.Branch {
	for len(b.Children) > 0 {
		b = b.Children[0]
	}
	return b
}

// OneCall reports whether one call releases what two lines of branches hold. For example, a
// context's cancel function releases it from its parent and from its timer.
func OneCall(a, b []*tree.Branch) bool {
	family := FamilyOf(a)
	return family != "" && family == FamilyOf(b)
}
