package collected

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

const (
	maxSurvivorsTraced = 3 // with their paths; the others get a line
	maxPathLines       = 16
)

// survivorMessage says which objects are still alive and who holds them. An object that is held by
// another one that should be garbage, too, is no problem of its own, and comes last.
func survivorMessage(a *assertion.Assertion, guilty, all []*survivor, when checkTime) string {
	var first, consequent []*survivor
	for _, s := range guilty {
		if s.holder >= 0 && !all[s.holder].excused {
			consequent = append(consequent, s)
		} else {
			first = append(first, s)
		}
	}
	if len(first) == 0 { // they hold each other
		first, consequent = consequent, nil
	}
	var lines []string
	for i, s := range first {
		if i == maxSurvivorsTraced {
			lines = append(lines, "", fmt.Sprintf("and %s more:", textfmt.Count(int64(len(first)-i))))
		}
		if i >= maxSurvivorsTraced {
			lines = append(lines, "    "+s.title())
			continue
		}
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, "leakcheck: "+s.title())
		lines = append(lines, textfmt.Indent(explainSurvivor(a, s, when))...)
	}
	if len(consequent) > 0 {
		lines = append(lines, "", "these are alive only as long as that is:")
		for _, s := range consequent {
			lines = append(lines, "    "+s.title())
		}
	}
	return strings.Join(message.LimitLines(lines), "\n")
}

func (s *survivor) title() string {
	title := s.typ + " is still reachable"
	if s.reason != "" {
		title += ": " + s.reason
	}
	return title
}

func explainSurvivor(a *assertion.Assertion, s *survivor, when checkTime) []string {
	expected := "expected to be garbage"
	if when == atEnd {
		expected += " when the test ends"
	}
	if at := a.Env.Place(s.at.File, s.at.Line); at != "" {
		expected += " (" + at + ")"
	}
	lines := []string{expected}
	if s.offHeap {
		if s.variable == "" {
			return append(lines, "it is not on Go's heap, but part of the program, or memory of C's: no collection frees it")
		}
		return append(lines, "it is the package variable "+symbol.Unescape(s.variable)+", or part of it, which lives as long as the program")
	}
	if s.Inner && s.Type != "" {
		lines = append(lines, "it is part of a larger object, "+naming.ShortName(naming.CleanType(s.Type))+", which is freed as a whole or not at all")
	}
	if s.RetainedObjects > 1 {
		lines = append(lines, fmt.Sprintf("it keeps %s alive, %s", textfmt.CountNoun(s.RetainedObjects, "object"), textfmt.ByteCount(s.RetainedBytes)))
	}
	others, beyond := furtherPaths(a, s.Paths)
	lines = append(lines, pathHeldBy(a, s.Paths[0])...)
	cause := message.UsualCause(tree.TraceOfPath(s.Paths[0]), a.Env)
	if cause == nil && beyond {
		cause = []string{message.CausePrefix + message.KeptBeyond}
	}
	lines = append(append(lines, cause...), "")
	lines = append(lines, pathLines(s.Paths[0])...)
	if len(s.AllocatedAt) > 0 && a.Env.AllAllocations {
		lines = append(append(lines, "", "allocated at:"), message.StackLines(s.AllocatedAt, a.Env)...)
	}
	lines = append(lines, others...)
	if len(s.Paths) == maxPaths {
		lines = append(lines, "", "there may be more paths than these")
	}
	return lines
}

// furtherPaths says what else leads to an object. beyond is true if all paths lead by elements
// beyond the length of a slice.
func furtherPaths(a *assertion.Assertion, paths []refscan.RetainingPath) (lines []string, beyond bool) {
	var read []string
	beyond = true
	for i, p := range paths {
		holder, path := pathHeldBy(a, p), pathLines(p)
		text := strings.Join(append(holder, path[1:]...), "\n") // the holder says which root it is
		beyond = beyond && slices.ContainsFunc(p.Steps, func(s refscan.PathStep) bool { return s.Beyond })
		// A path by another element of the same slice, for example, reads the same.
		if i > 0 && !slices.Contains(read, text) && !isNamesake(p, paths[:i]) &&
			!message.OneCall(tree.TraceOfPath(paths[0]).Branches, tree.TraceOfPath(p).Branches) {
			lines = append(append(lines, "", "cutting that is not enough, it is also "+holder[0]), path...)
		}
		read = append(read, text)
	}
	return lines, beyond
}

// pathHeldBy says in words what a path begins with.
func pathHeldBy(a *assertion.Assertion, p refscan.RetainingPath) []string {
	holder := p.Type
	for _, step := range p.Steps {
		if isTestCleanup(holder, step.Name) {
			return []string{"held by a function that was registered with Cleanup, which runs when the test ends"}
		}
		holder = step.Type
	}
	return message.HeldBy(tree.RootOfPath(p), a.Env)
}

// isNamesake reports whether a path is one of the others under another name: a variable that is
// passed to inlined functions has the names of their parameters, too.
func isNamesake(p refscan.RetainingPath, others []refscan.RetainingPath) bool {
	for _, o := range others {
		if p.Root.Kind == refscan.RootFrame && o.Root.Kind == refscan.RootFrame && p.Root.Func == o.Root.Func &&
			p.Root.CreatedAt == o.Root.CreatedAt && len(p.Steps) == 1 && len(o.Steps) == 1 {
			return true
		}
	}
	return false
}

// A link is a reference in a folded path. The same reference several times in a row is one link.
type link struct {
	name, typ string
	state     string // of the object that it leads to
	beyond    bool   // the reference lies beyond the length of a slice
	times     int
	watched   bool
	suspect   bool // the reference is marked as suspect: one of those should have been dropped
}

const expectedMark = "  ← expected to be garbage"

// pathLines draws a path, one line an edge. If an object on it should be gone already, the
// references up to that object are marked as suspect.
func pathLines(p refscan.RetainingPath) []string {
	root := tree.RootOfPath(p)
	links := foldSteps(p.Steps)
	first := root.Name + message.Describe(root)
	if len(links) > 0 && links[0].name == "" { // the variable refers to the object itself
		links[0].name, links[0].suspect = root.Name, false
		if links[0].typ == "" {
			links[0].typ = root.Typ
		}
		first = links[0].String()
		links = links[1:]
	}
	lines, marked := []string{first}, false
	over := max(0, len(links)-maxPathLines)
	depth := 0
	for i, l := range links {
		text := ""
		switch {
		case over > 0 && i == maxPathLines/2:
			text = "… " + textfmt.CountNoun(int64(over), "edge") + " more"
		case over > 0 && i > maxPathLines/2 && i < maxPathLines/2+over:
			continue
		default:
			text, marked = l.String(), marked || l.suspect
		}
		lines = append(lines, message.Under(depth, text))
		depth++
	}
	if marked {
		lines = append(lines, message.SuspectLegend)
	}
	return lines
}

func (l link) String() string {
	s := l.name
	if l.times > 1 {
		s += " × " + textfmt.Count(int64(l.times))
	}
	if l.typ != "" {
		s += "  " + textfmt.Abridge(naming.ShortName(l.typ), message.MaxNameShown)
	}
	if l.beyond {
		s += ", beyond the length"
	}
	if l.state != "" {
		s += ", " + l.state
	}
	if l.suspect {
		s += message.SuspectMark
	}
	if l.watched {
		s += expectedMark
	}
	return s
}

// foldSteps folds a path, and marks the references up to the first object whose use is over or that
// should be garbage. If that is the last object, it marks none: all would be suspect.
func foldSteps(steps []refscan.PathStep) []link {
	wrong := len(steps)
	for i, st := range steps[:len(steps)-1] {
		if st.State != "" || st.Watched > 0 {
			wrong = i
			break
		}
	}
	var links []link
	for i, st := range steps {
		l := link{
			name: symbol.Unescape(symbol.FoldPath(st.Name)), typ: naming.CleanType(st.Type), state: st.State, beyond: st.Beyond, times: 1,
			watched: st.Watched > 0, suspect: wrong < len(steps) && i <= wrong,
		}
		if n := len(links); n > 0 && links[n-1].name == l.name && links[n-1].typ == l.typ && links[n-1].state == l.state && links[n-1].beyond == l.beyond &&
			links[n-1].suspect == l.suspect && !links[n-1].watched {
			links[n-1].times++
			links[n-1].watched = l.watched
			continue
		}
		links = append(links, l)
	}
	return links
}
