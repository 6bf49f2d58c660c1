package leakcheck

import (
	"fmt"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/verdict"
)

// evaluateCuts judges the bounds on what cutting would free, and adds the lines of a golden file.
func evaluateCuts(e *evaluation, r *request, s scope, everything forest, env *environment) {
	for i := range e.findings {
		f := &e.findings[i]
		if f.bound.cut == nil {
			continue
		}
		selected := f.bound.selector.selects(e.forest)
		if f.bound.selector.byType() && len(r.scope) == 0 {
			selected, _ = env.keptOnPurpose(selected)
		}
		f.cut = f.bound.cut.judge(selected)
		if f.cut.broken && !f.broken {
			f.broken, f.culprits = true, f.cut.culprits
		}
	}
	for _, sel := range r.cuts.recorded {
		if problem := nothingMeant(Bound{selector: sel}, s, everything, e.obs.names); problem != "" {
			e.problems = append(e.problems, problem)
		}
	}
	e.cutLines = cutLines(r.cuts.recorded, e.forest)
}

// judge holds each of the branches that a bound means to the limits.
func (l cutLimits) judge(selected []*branch) *cutFinding {
	f := &cutFinding{}
	var most tally
	for _, b := range selected {
		most.objects = max(most.objects, b.retained.objects)
		most.bytes = max(most.bytes, b.retained.bytes)
	}
	f.record = func(r *verdict.Result) {
		b := &r.Bounds[len(r.Bounds)-1]
		b.MaxRetainedObjects, b.MaxRetainedBytes = l.objects, l.bytes
		b.RetainedObjects, b.RetainedBytes = most.objects, most.bytes
	}
	var over []string
	weight := bytesOf
	if l.bytes != nil && most.bytes > *l.bytes {
		over = append(over, byteCount(most.bytes-*l.bytes))
	}
	if l.objects != nil && most.objects > *l.objects {
		weight = objectsOf
		over = append([]string{countNoun(most.objects-*l.objects, "object")}, over...)
	}
	f.broken = len(over) > 0
	f.culprits = append(f.culprits, selected...)
	sort.SliceStable(f.culprits, func(i, j int) bool {
		return compareTallies(weight, f.culprits[i].retained, f.culprits[j].retained) > 0
	})
	f.amount = "cutting it would free " + most.text()
	switch len(selected) {
	case 0:
	case 1:
		if shared := selected[0].shared; shared != (tally{}) {
			f.amount += " (" + shared.text() + " of it are held by something else, too)"
		}
	default:
		f.amount = fmt.Sprintf("cutting one of the %s would free up to %s", countNoun(int64(len(selected)), "path"), most.text())
	}
	if f.broken {
		f.amount += ": " + strings.Join(over, " and ") + " more than allowed"
	}
	return f
}

func (t tally) text() string {
	return countNoun(t.objects, "object") + ", " + byteCount(t.bytes)
}

// cutNote says what cutting a branch of a trace would free.
func cutNote(b *branch) string {
	if b.retained == (tally{}) {
		return ", frees nothing"
	}
	s := ", frees " + byteCount(b.retained.bytes)
	if b.shared.bytes > 0 {
		s += ", not " + byteCount(b.shared.bytes) + " shared"
	}
	return s
}

// cutLines returns the lines of a golden file on what the branches retain that the selectors mean.
func cutLines(selectors []Selector, f forest) []golden.Measurement {
	var lines []golden.Measurement
	done := make(map[*branch]bool)
	for _, s := range selectors {
		for _, b := range s.selects(f) {
			if done[b] || b.retained == (tally{}) {
				continue
			}
			done[b] = true
			m := golden.Measurement{
				Path: retainedLine + b.path, Type: b.typ,
				Objects: b.retained.objects, Bytes: b.retained.bytes, BytesTolerance: oneStep,
			}
			if b.varies() {
				m.Objects = 0
			}
			lines = append(lines, m)
		}
	}
	return mergeLines(lines)
}

// varies reports whether the number of objects at and below a branch follows the hash seed or the number of
// processors.
func (b *branch) varies() bool {
	found := false
	forest{b}.all(func(c *branch) bool {
		found = found || isHashShaped(c.typ) || isPoolShaped(c.typ) || isTrie(c.typ)
		return !found
	})
	return found
}
