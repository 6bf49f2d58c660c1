package leakcheck

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/golden"
)

const (
	maxMessageLines = 60
	maxTraced       = 2 // bounds or paths that are traced; the others get a line
	maxDiffLines    = 16
	maxWarnings     = 3
)

// failureMessage says what is retained that should not be, by whom, and what can be done, in lines. The
// artifacts' folder may be "".
func (a *assertion) failureMessage(o *outcome, artifacts string) []string {
	var lines []string
	switch {
	case o.body != nil:
		lines = o.body()
	case o.golden != nil:
		lines = a.goldenFailure(o.eval)
	default:
		lines = a.boundsFailure(o.eval)
	}
	lines = append(lines, "")
	for _, i := range o.eval.ignored {
		if i.paths > 0 {
			lines = append(lines, "ignored: "+i.String())
		}
	}
	warnings := o.eval.obs.report.Warnings
	for _, w := range warnings[:min(len(warnings), maxWarnings)] {
		lines = append(lines, "warning: "+w)
	}
	if o.snapshots > 1 {
		lines = append(lines, fmt.Sprintf("still so in the last of %d snapshots: waiting does not help", o.snapshots))
	}
	if o.golden != nil && a.env.goldens == "" {
		lines = append(lines, "to accept it: "+a.updateCommand())
	}
	if o.eval.obs.names == nil {
		return lines // of a scan there would be a profile
	}
	if artifacts != "" {
		lines = append(lines, "profile: go tool pprof -http=: "+filepath.Join(artifacts, retainedFile))
	} else if a.t != nil && a.env.artifacts == "" {
		lines = append(lines, "for a profile of all that is retained: go test -artifacts, or leakgate run")
	}
	return lines
}

// limitLines keeps a message short from its middle: the head says what broke, the end what to do.
func limitLines(lines []string) []string {
	over := len(lines) - maxMessageLines
	if over <= 0 {
		return lines
	}
	const end = 8
	cut := len(lines) - end - over - 1
	out := slices.Clone(lines[:cut])
	out = append(out, fmt.Sprintf("… %d more lines", over+1))
	return append(out, lines[len(lines)-end:]...)
}

// headline says in one line what does not hold.
func (e *evaluation) headline() string {
	if broken, _, first := e.broken(); broken > 0 {
		return first
	}
	if e.golden != nil {
		if fs := e.golden.failures(); len(fs) > 0 {
			return fs[0].String()
		}
	}
	return ""
}

func (a *assertion) boundsFailure(e *evaluation) []string {
	lines := []string{"leakcheck: more is retained than the test allows"}
	if broken, all, _ := e.broken(); all > 1 {
		lines[0] += fmt.Sprintf(" (%d of %d bounds)", broken, all)
	}
	traced := 0
	var drawn []*branch // what traces end at
	for i := range e.findings {
		f := &e.findings[i]
		if !f.broken {
			continue
		}
		lines = append(lines, "", f.bound.String(), "    "+f.amount())
		if len(f.culprits) > 0 && slices.Contains(drawn, f.trace().last()) {
			lines = append(lines, "    most of it is at the end of the path above")
			continue
		}
		if traced++; traced <= maxTraced && len(f.culprits) > 0 {
			drawn = append(drawn, f.trace().last())
			lines = append(lines, indent(a.explain(f))...)
		}
	}
	if e.goroutines != nil {
		lines = append(lines, e.goroutines.failure(maxTraced-traced, a.env)...)
	}
	return lines
}

// amount says how much was found, and how much of it is too much.
func (f *finding) amount() string {
	s := fmt.Sprintf("found %s, %s", countNoun(f.found.objects, "object"), byteCount(f.found.bytes))
	var over []string
	if b := f.bound; b.maxObjects != nil && f.found.objects > *b.maxObjects {
		over = append(over, countNoun(f.found.objects-*b.maxObjects, "object"))
	}
	if b := f.bound; b.maxBytes != nil && f.found.bytes > *b.maxBytes {
		over = append(over, byteCount(f.found.bytes-*b.maxBytes))
	}
	if len(over) > 0 && !f.bound.none {
		s += ": " + strings.Join(over, " and ") + " more than allowed"
	}
	if f.cut != nil {
		s += "; " + f.cut.amount
	}
	return s
}

// trace leads to where most of the largest culprit sits.
func (f *finding) trace() *trace {
	return traceTo(f.culprits[0], !f.bound.selector.byType(), f.weight)
}

// explain shows who holds the largest part, and what else there is.
func (a *assertion) explain(f *finding) []string {
	below := !f.bound.selector.byType()
	top := f.culprits[0]
	t := f.trace()
	if f.cut != nil {
		t.note = a.req.cuts.note
	}
	lines := append(heldBy(top, a.env), "")
	lines = append(lines, t.lines()...)
	lines = append(lines, a.req.alsoHeld(t, a.env)...)
	lines = append(lines, t.allocatedAt(a.env)...)
	if others := t.others(f.culprits, below); len(others) > 0 {
		lines = append(lines, "", "besides:")
		lines = append(lines, others...)
	}
	return lines
}

func (a *assertion) goldenFailure(e *evaluation) []string {
	failures := e.golden.failures()
	measure := "the golden file allows"
	if a.env.goldens != "" {
		measure = "the base retains"
	}
	lines := []string{
		fmt.Sprintf("leakcheck: more is retained than %s (%s): %s",
			measure, countNoun(int64(len(failures)), "path"), e.golden.shown), "",
	}
	diff := strings.Split(strings.TrimRight(e.golden.diff, "\n"), "\n")
	lines = append(lines, indent(diff[:min(len(diff), maxDiffLines)])...)
	if rest := len(diff) - maxDiffLines; rest > 0 {
		lines = append(lines, fmt.Sprintf("    … %d more lines", rest))
	}
	worst, weight := worstOf(failures)
	culprits := e.forest.covered(worst.Covered)
	if len(culprits) == 0 {
		if g := e.goroutines; g != nil {
			if who := g.explain(worst.Covered, a.env); len(who) > 0 {
				lines = append(append(lines, "", "the most: "+worst.String()), indent(who)...)
			}
		}
		return lines
	}
	t := traceTo(largestOf(culprits, weight, false), false, weight)
	lines = append(lines, "", "the most: "+worst.String())
	lines = append(lines, indent(heldBy(t.last(), a.env))...)
	lines = append(lines, "")
	if c := a.req.cuts; c != nil {
		t.note = c.note
	}
	lines = append(lines, indent(t.lines())...)
	lines = append(lines, indent(a.req.alsoHeld(t, a.env))...)
	return append(lines, indent(t.allocatedAt(a.env))...)
}

// worstOf returns the path that is farthest beyond its line, and what it is about.
func worstOf(failures []golden.Difference) (*golden.Difference, func(tally) int64) {
	worst := &failures[0]
	for i := range failures {
		if f := &failures[i]; f.ObjectsOver > worst.ObjectsOver || f.ObjectsOver == worst.ObjectsOver && f.BytesOver > worst.BytesOver {
			worst = f
		}
	}
	if worst.ObjectsOver > 0 {
		return worst, objectsOf
	}
	return worst, bytesOf
}

// covered returns the branches that made the lines of a golden file.
func (f forest) covered(ms []golden.Measurement) []*branch {
	var found []*branch
	f.all(func(b *branch) bool {
		for _, m := range ms {
			m.Path = strings.TrimPrefix(m.Path, retainedLine)
			sum, isSum := strings.CutSuffix(m.Path, ".**")
			switch {
			case m.Path == b.path && (m.Type == b.typ || m.Type == ""),
				m.Path == b.path+entries && m.Type == "" && b.elems > 0,
				isSum && strings.HasPrefix(b.path, sum) && len(b.path) > len(sum) && atBoundary(b.path, len(sum)):
				found = append(found, b)
				return true
			}
		}
		return true
	})
	return found
}

//go:noinline
func indent(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if l != "" {
			out[i] = "    " + l
		}
	}
	return out
}

// updateCommand is what rewrites the golden file of this test, on any system's shell.
func (a *assertion) updateCommand() string {
	pkg := a.env.packagePath
	if pkg == "" || strings.HasPrefix(pkg, "command-line-arguments") {
		pkg = "."
	}
	if a.t == nil {
		return fmt.Sprintf("go test %s -leakcheck.update", pkg)
	}
	parts := strings.Split(a.test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return fmt.Sprintf("go test %s -run '%s' -leakcheck.update", pkg, strings.Join(parts, "/"))
}
