package leakcheck

import (
	"fmt"

	"github.com/leakgate/leakgate/refscan"
)

// elsewhere is a holderSearch: it finds out who else holds what the traces of a message end at.
type elsewhere struct{ ends []*traceEnd }

type traceEnd struct {
	path, typ string
	held      *refscan.Elsewhere // nil: by nobody else, or that could not be told
}

func (e *elsewhere) expect(traces ...*trace) {
	e.ends = nil
	for _, t := range traces {
		last := t.last()
		e.ends = append(e.ends, &traceEnd{path: last.path, typ: last.typ})
	}
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
	if len(e.ends) == 0 {
		return also
	}
	return func(s *refscan.Snapshot) error {
		for _, end := range e.ends {
			end.held, _ = s.Elsewhere(func(path, typ string) bool {
				return unescapePath(path) == end.path && cleanType(typ) == end.typ
			})
		}
		if also == nil {
			return nil
		}
		return also(s)
	}
}

// tell says who else holds a large part of what a trace ends at: a quarter of the objects.
func (e *elsewhere) tell(t *trace, env *environment) []string {
	last := t.last()
	for _, end := range e.ends {
		held := end.held
		if end.path != last.path || end.typ != last.typ || held == nil || 4*held.Objects < last.objects {
			continue
		}
		holder := newBranch(held.Holder, nil, held.Holder.Root)
		if holder == nil {
			continue
		}
		what := fmt.Sprintf("%s of the %s are", count(held.Objects), countNoun(last.objects, "object"))
		switch {
		case last.objects == 1:
			what = "it is"
		case held.Objects >= last.objects:
			what = fmt.Sprintf("all %s are", countNoun(last.objects, "object"))
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
