package leakcheck

import (
	"fmt"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// typeSets are the nodes whose objects each limit on a type means.
type typeSets map[cutLimit]*refscan.NodeSet

// typeSets names, for each limit on a type, the nodes whose objects are meant. What they retain together is known once
// the report is finished.
func (a *assertion) typeSets(r *refscan.Report) []*refscan.NodeSet {
	together := make(typeSets)
	a.req.cuts.found = together
	var sets []*refscan.NodeSet
	f := growTrees(r.Roots)
	nodeOf := make(map[*branch]*refscan.Node)
	f.pair(nodeOf, r.Roots)
	f = f.keep(scopeOf(a.req, a.env))
	for _, b := range a.req.bounds {
		if b.cut == nil || !b.selector.byType() {
			continue
		}
		set := &refscan.NodeSet{}
		for _, selected := range a.req.notOnPurpose(b.selector.selects(f), a.env) {
			set.Nodes = append(set.Nodes, nodeOf[selected])
		}
		together[b.cut] = set
		sets = append(sets, set)
	}
	return sets
}

// pair finds the nodes that branches were made of.
func (f forest) pair(nodeOf map[*branch]*refscan.Node, nodes []*refscan.Node) {
	for _, n := range nodes {
		if isOwn(n) {
			continue
		}
		nodeOf[f[0]] = n
		forest(f[0].children).pair(nodeOf, n.Children)
		f = f[1:]
	}
}

// notOnPurpose leaves out what the standard library keeps, unless there is a scope.
func (r *request) notOnPurpose(selected []*branch, env *environment) []*branch {
	if len(r.scope) == 0 {
		selected, _ = env.keptOnPurpose(selected)
	}
	return selected
}

// evaluateCuts judges the bounds on what cutting would free, and adds the lines of a golden file.
func evaluateCuts(e *evaluation, r *request, s scope, everything forest, env *environment) {
	together, _ := r.cuts.found.(typeSets)
	for i := range e.findings {
		f := &e.findings[i]
		if f.bound.cut == nil {
			continue
		}
		selected := f.bound.selector.selects(e.forest)
		if f.bound.selector.byType() {
			selected = r.notOnPurpose(selected, env)
		}
		f.cut = f.bound.cutLimits().judge(selected, together[f.bound.cut])
		if f.cut.broken && !f.broken {
			f.broken, f.culprits = true, f.cut.culprits
		}
	}
	for _, sel := range r.cuts.recorded {
		if problem := nothingMeant(&Bound{selector: sel}, s, everything, e.obs.names); problem != "" {
			e.problems = append(e.problems, problem)
		}
	}
	e.cutLines = cutLines(r.cuts.recorded, e.forest)
}

// judge holds each of the branches that a bound means to the limits, or, if together is not nil, all of them at once.
func (l cutLimits) judge(selected []*branch, together *refscan.NodeSet) *cutFinding {
	f := &cutFinding{}
	var most, shared tally
	for _, b := range selected {
		most.objects = max(most.objects, b.retained.objects)
		most.bytes = max(most.bytes, b.retained.bytes)
	}
	free := "cutting it would free "
	switch {
	case together != nil:
		most = tally{together.RetainedObjects, together.RetainedBytes}
		shared = tally{together.SharedObjects, together.SharedBytes}
		free = "cutting all of them would free "
	case len(selected) == 1:
		shared = selected[0].shared
	case len(selected) > 1:
		free = fmt.Sprintf("cutting one of the %s would free up to ", countNoun(int64(len(selected)), "path"))
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
	f.amount = free + most.text()
	if shared != (tally{}) {
		f.amount += ", not " + shared.text() + " that something else holds, too"
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
