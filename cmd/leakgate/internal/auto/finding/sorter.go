// Package finding turns what grew in explorations into one finding per cause, over all tests and
// packages of a run, and writes each as the record of an assertion.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/drive"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
)

// Whole is the name of the assertion about all functions of a package together.
const Whole = "all tests"

// A Sorter takes the results of packages, one after the other. It is for one goroutine.
type Sorter struct {
	records     string // folder
	rerun       func(pkg string, functions []string) string
	causes      map[string]*cause // by root, in the user's modules
	deps        map[string]*cause // by root, in dependencies
	nonFindings map[Class]map[string]string
	onlyInGroup map[string]*cause // by root: grew in a group, and in none of its parts
	found       []*found
}

// Found returns the number of causes in the user's modules.
func (s *Sorter) Found() int { return len(s.causes) }

// A cause is one root, and the functions that feed it.
type cause struct {
	growth Growth
	fed    []feeder
	// some functions that may feed the root have not been told apart
	feedersIncomplete bool
}

type feeder struct {
	pkg       string
	functions []string // one, or a group that was not told apart
}

// found is a failed assertion: the new roots that one group of functions feeds.
type found struct {
	pkg    string
	group  *drive.Exploration
	causes []*cause
}

// NewSorter returns a sorter that writes records below a folder. again returns the command that
// repeats some functions of a package.
func NewSorter(records string, again func(pkg string, functions []string) string) *Sorter {
	return &Sorter{
		records: records, rerun: again,
		causes: make(map[string]*cause), deps: make(map[string]*cause), onlyInGroup: make(map[string]*cause),
		nonFindings: make(map[Class]map[string]string),
	}
}

// Roots returns the roots for which a group is split until the test that makes them grow is known.
// They are the roots of leaks and dependencies, and those of objects whose end is not known or
// differs between tests. Resources that grow as fast as something else in the same group are among
// them, though no object there stands for them: another test of the group may make them.
func Roots(e Evidence, all []Growth) []drive.Root {
	var roots []drive.Root
	for _, g := range all {
		if g.Class == Leak || g.Class == Dependency || g.Class == Unended && (e.Lifetimes == nil || g.Mixed) {
			roots = append(roots, drive.Root{Name: g.Root, Functions: callers(g.Bound.Holder)})
		}
		for _, r := range g.Bound.Resources {
			if of := "resource " + r.Name; r.Holder == "" && of != g.Root {
				roots = append(roots, drive.Root{Name: of})
			}
		}
	}
	return roots
}

// callers returns the functions whose calls make something and fill its container, without their
// packages, and with the functions that literals are in.
func callers(h *verdict.Holder) []string {
	var names []string
	for _, c := range slices.Concat(h.Made, h.Filled) {
		names = append(names, symbol.Outer(c.Function))
	}
	return names
}

// A Package is the result for one package.
type Package struct {
	Failures []Failure
	Repeated int           // number of functions
	Held     int           // number of benchmarks
	Left     []drive.Tried // functions that were not repeated or held, with the reason
	Nothing  string        // why nothing was repeated; "" if something was
	Unknown  string        // why it could not be told what was; "" if it could
}

// A Failure is a failed assertion, for the event stream.
type Failure struct{ Test, Message string }

// Add takes the result of a package. It writes the record of a pass or of an unknown verdict at
// once; LeaveFindings writes those of failures.
func (s *Sorter) Add(pkg string, modules *Modules, r *drive.Report) (*Package, error) {
	p := &Package{}
	for _, f := range slices.Concat(r.Functions, r.Benchmarks) {
		switch {
		case f.Status != repeat.OK:
			p.Left = append(p.Left, f)
		case slices.ContainsFunc(r.Benchmarks, func(b drive.Tried) bool { return b.Name == f.Name }):
			p.Held++
		default:
			p.Repeated++
		}
	}
	if e, why, remedy := unknown(r); why != "" {
		p.Unknown = why
		return p, s.leaveUnknown(pkg, e, why, remedy)
	}
	all := explorations(r)
	if len(all) == 0 {
		p.Nothing = cmp.Or(r.Broken, Reasons(p.Left))
		return p, nil
	}
	fresh := s.sort(pkg, modules, r)
	for _, f := range fresh {
		p.Failures = append(p.Failures, Failure{f.test(), s.message(f)})
	}
	if len(fresh) == 0 {
		return p, s.leavePass(pkg, all[0])
	}
	s.found = append(s.found, fresh...)
	return p, nil
}

// unknown returns why it could not be told what a group leaves, and what to do about it; "" if it
// could. Nothing is known either where results could not be written.
func unknown(r *drive.Report) (e *drive.Exploration, why, remedy string) {
	if r.Remedy != "" {
		return nil, r.Broken, r.Remedy
	}
	for i := range r.Groups {
		e := &r.Groups[i]
		if slices.ContainsFunc(r.Groups, func(of drive.Exploration) bool { return isPart(e, &of) }) {
			continue
		}
		switch {
		case e.Record == nil:
			return e, cmp.Or(e.Reason, "nothing came of the exploration"), ""
		case e.Record.Verdict == verdict.Unknown:
			return e, cmp.Or(e.Record.Cause, "leakcheck could not tell"), e.Record.Remedy
		case e.Record.Misuse:
			return e, e.Record.Message, ""
		}
	}
	return nil, "", ""
}

// sort judges what grew in all groups, and returns the new findings.
func (s *Sorter) sort(pkg string, modules *Modules, r *drive.Report) []*found {
	seen := make(map[string][]occurrence) // by root
	var order []string
	for _, e := range explorations(r) {
		if e.Record == nil || e.Record.Verdict != verdict.Fail {
			continue
		}
		for _, g := range modules.Sort(Evidence{e.Record, e.Lifetimes}) {
			if seen[g.Root] == nil {
				order = append(order, g.Root)
			}
			seen[g.Root] = append(seen[g.Root], occurrence{e, g})
		}
	}
	var fresh []*found
	for _, root := range order {
		if seen[root] = slices.DeleteFunc(seen[root], func(o occurrence) bool { return isToldInParts(r, seen, o) }); len(seen[root]) == 0 {
			continue
		}
		seen[root] = slices.DeleteFunc(seen[root], func(o occurrence) bool {
			// The test feeds this root, then, and none of its subtests does alone.
			return strings.Contains(o.group.Functions[0], "/") && allPartsExplored(r, o.group)
		})
		feeding := culprits(seen[root])
		least := smallest(feeding)
		c := &cause{growth: least.growth, fed: feeders(pkg, feeding)}
		c.feedersIncomplete = !toldApart(r, seen[root])
		switch least.growth.Class {
		case Leak:
			if allPartsExplored(r, least.group) {
				merge(s.onlyInGroup, root, c)
				continue
			}
			if !merge(s.causes, root, c) {
				continue
			}
			i := slices.IndexFunc(fresh, func(f *found) bool { return f.group == least.group })
			if i < 0 {
				fresh = append(fresh, &found{pkg: pkg, group: least.group})
				i = len(fresh) - 1
			}
			fresh[i].causes = append(fresh[i].causes, c)
		case Dependency:
			if allPartsExplored(r, least.group) {
				merge(s.onlyInGroup, root, c)
			} else {
				merge(s.deps, root, c)
			}
		default:
			of := s.nonFindings[least.growth.Class]
			if of == nil {
				of = make(map[string]string)
				s.nonFindings[least.growth.Class] = of
			}
			why := slices.DeleteFunc(append([]string{least.growth.Reason}, origin(least.growth)...), func(s string) bool { return s == "" })
			of[root] = fmt.Sprintf("%s (%s)", text(least.growth), strings.Join(append(why, "fed by "+c.fed[0].String()), "; "))
		}
	}
	return fresh
}

// explorations returns all explorations of a report: groups, then loops of benchmarks.
func explorations(r *drive.Report) []*drive.Exploration {
	var all []*drive.Exploration
	for i := range r.Groups {
		all = append(all, &r.Groups[i])
	}
	for i := range r.Held {
		all = append(all, &r.Held[i])
	}
	return all
}

// merge adds a cause to those known, and reports whether it is new.
func merge(known map[string]*cause, root string, c *cause) bool {
	if k := known[root]; k != nil {
		k.fed = append(k.fed, c.fed...)
		k.feedersIncomplete = k.feedersIncomplete || c.feedersIncomplete
		return false
	}
	known[root] = c
	return true
}

// isToldInParts reports whether parts of a group, of which all are known, tell who makes what grows
// at a place, and the group itself does not: too little was recorded there. It is one cause, with
// the root of the parts.
func isToldInParts(r *drive.Report, seen map[string][]occurrence, o occurrence) bool {
	if o.growth.Maker != nil || !allPartsExplored(r, o.group) {
		return false
	}
	for root, all := range seen {
		if root != o.growth.Root && slices.ContainsFunc(all, func(p occurrence) bool {
			return p.growth.Place == o.growth.Place && isPart(p.group, o.group)
		}) {
			return true
		}
	}
	return false
}

// An occurrence is the growth of a root in one group.
type occurrence struct {
	group  *drive.Exploration
	growth Growth
}

// culprits returns the occurrences in the smallest groups: those of which no part feeds the root.
// If some are leaks, these alone count: what one test does not close does not excuse another. A
// group of subtests takes the place of its test.
func culprits(all []occurrence) []occurrence {
	least := parts(all)
	for _, class := range []Class{Leak, Dependency, Unended} {
		of := slices.DeleteFunc(slices.Clone(least), func(o occurrence) bool { return o.growth.Class != class })
		if len(of) > 0 {
			return of
		}
	}
	return least
}

// smallest returns the occurrence in the group with the fewest functions, the first of several.
func smallest(all []occurrence) occurrence {
	return slices.MinFunc(all, func(a, b occurrence) int { return len(a.group.Functions) - len(b.group.Functions) })
}

// parts returns the occurrences whose group has no part among the other occurrences.
func parts(all []occurrence) []occurrence {
	return slices.DeleteFunc(slices.Clone(all), func(o occurrence) bool {
		return slices.ContainsFunc(all, func(p occurrence) bool { return isPart(p.group, o.group) })
	})
}

// feeders returns the groups that feed a root.
func feeders(pkg string, all []occurrence) []feeder {
	var fed []feeder
	for _, o := range all {
		fed = append(fed, feeder{pkg, o.group.Functions})
	}
	return fed
}

// toldApart reports whether it is known for each explored function whether it feeds a root: the
// function was explored alone, or in a group that does not feed the root.
func toldApart(r *drive.Report, all []occurrence) bool {
	known := make(map[string]bool)
	for i := range r.Groups {
		e := &r.Groups[i]
		feeds := slices.ContainsFunc(all, func(o occurrence) bool { return o.group == e })
		if e.Record == nil || e.Record.Verdict == verdict.Unknown || feeds && len(e.Functions) > 1 {
			continue
		}
		for _, name := range e.Functions {
			known[name] = true
		}
	}
	for i := range r.Groups {
		if slices.ContainsFunc(r.Groups[i].Functions, func(name string) bool { return !known[name] }) {
			return false
		}
	}
	return true
}

// isPart reports whether a group was split off from another.
func isPart(part, of *drive.Exploration) bool {
	return weight(part) < weight(of) &&
		!slices.ContainsFunc(part.Functions, func(name string) bool {
			test, _, _ := strings.Cut(name, "/")
			return !slices.Contains(of.Functions, name) && !slices.Contains(of.Functions, test)
		})
}

// weight orders groups that may be parts of each other: a group of subtests weighs less than its
// test.
func weight(e *drive.Exploration) int {
	const test = 1000 // more than the number of subtests that are told apart
	if strings.Contains(e.Functions[0], "/") {
		return len(e.Functions)
	}
	return test * len(e.Functions)
}

// allPartsExplored reports whether all functions of a group were explored in its parts, too. Growth
// in the group and in none of its parts is no finding: a buffer of the runtime, or a cache that was
// not full.
func allPartsExplored(r *drive.Report, group *drive.Exploration) bool {
	if len(group.Functions) == 1 {
		return false
	}
	explored := make(map[string]bool)
	for i := range r.Groups {
		part := &r.Groups[i]
		if isPart(part, group) && part.Record != nil && part.Record.Verdict != verdict.Unknown {
			for _, name := range part.Functions {
				explored[name] = true
			}
		}
	}
	return !slices.ContainsFunc(group.Functions, func(name string) bool { return !explored[name] })
}
