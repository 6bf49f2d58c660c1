package leakcheck

import (
	"fmt"

	"github.com/leakgate/leakgate/refscan"
)

// elsewhere is a holderSearch: it finds out who else holds what the traces of a message are about.
type elsewhere struct{ places []*heldTwice }

type heldTwice struct {
	path, typ string
	held      *refscan.Elsewhere // nil: by nobody else, or that could not be told
}

func (e *elsewhere) expect(traces ...*trace) {
	e.places = nil
	for _, t := range traces {
		if b := t.spread(); b != nil {
			e.places = append(e.places, &heldTwice{path: b.path, typ: b.typ})
		}
	}
}

// spread is the first branch below the root that has as many objects as where the trace ends, or nearly so: these are what
// was put somewhere, and the branch above is what they were put into. Where there is none, it returns nil.
func (t *trace) spread() *branch {
	most := t.last().objects
	for _, b := range t.branches[1:] {
		if most > 0 && 4*b.objects >= most {
			return b
		}
	}
	return nil
}

func (e *elsewhere) expectOf(v *evaluation) {
	var traces []*trace
	for i := range v.findings {
		if f := &v.findings[i]; f.broken && len(f.culprits) > 0 && len(traces) < maxTraced {
			traces = append(traces, f.trace())
		}
	}
	if v.golden != nil && !v.golden.ok() {
		worst, weight := worstOf(v.golden.failures())
		if culprits := v.forest.covered(worst.Covered); len(culprits) > 0 {
			traces = append(traces, traceTo(largestOf(culprits, weight, false), false, weight))
		}
	}
	e.expect(traces...)
}

// after returns what to do with a snapshot: also, if it is not nil, and the search, if there is anything to look for.
func (e *elsewhere) after(also func(*refscan.Snapshot) error) func(*refscan.Snapshot) error {
	if len(e.places) == 0 {
		return also
	}
	return func(s *refscan.Snapshot) error {
		for _, place := range e.places {
			place.held, _ = s.Elsewhere(func(path, typ string) bool {
				return unescapePath(path) == place.path && cleanType(typ) == place.typ
			})
		}
		if also == nil {
			return nil
		}
		return also(s)
	}
}

// tell says who else holds a large part of what a trace is about: a quarter of the objects.
func (e *elsewhere) tell(t *trace, env *environment) []string {
	b := t.spread()
	for _, place := range e.places {
		held := place.held
		if b == nil || place.path != b.path || place.typ != b.typ || held == nil || 4*held.Objects < b.objects {
			continue
		}
		holder := newBranch(held.Holder, nil, held.Holder.Root)
		if holder == nil {
			continue
		}
		what := fmt.Sprintf("%s of the %s are", count(held.Objects), countNoun(b.objects, "object"))
		switch {
		case b.objects == 1:
			what = "it is"
		case held.Objects >= b.objects:
			what = fmt.Sprintf("all %s are", countNoun(b.objects, "object"))
		}
		lines := []string{"", "cutting that is not enough, " + what + " also " + heldBy(holder, env)[0]}
		for len(holder.children) > 0 {
			holder = holder.children[0]
		}
		if holder.parent != nil {
			lines = append(lines, "   at "+abridge(holder.path, maxNameShown))
		}
		return lines
	}
	return nil
}
