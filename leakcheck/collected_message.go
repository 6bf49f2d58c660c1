package leakcheck

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/refscan"
)

const (
	maxSurvivorsTraced = 3 // with their paths; the others get a line
	maxPathLines       = 16
)

// survivorMessage says which objects are still alive and who holds them. Objects that are held by another
// one that should be garbage too are no problem of their own, and come last.
func (a *assertion) survivorMessage(guilty, all []*survivor, when due) string {
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
			lines = append(lines, "", fmt.Sprintf("and %s more:", count(int64(len(first)-i))))
		}
		if i >= maxSurvivorsTraced {
			lines = append(lines, "    "+s.title())
			continue
		}
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, "leakcheck: "+s.title())
		lines = append(lines, indent(a.explainSurvivor(s, when))...)
	}
	if len(consequent) > 0 {
		lines = append(lines, "", "these are alive only as long as that is:")
		for _, s := range consequent {
			lines = append(lines, "    "+s.title())
		}
	}
	return strings.Join(limitLines(lines), "\n")
}

func (s *survivor) title() string {
	title := s.typ + " is still reachable"
	if s.reason != "" {
		title += ": " + s.reason
	}
	return title
}

func (a *assertion) explainSurvivor(s *survivor, when due) []string {
	expected := "expected to be garbage"
	if when == atEnd {
		expected += " when the test ends"
	}
	if at := a.env.place(s.at.file, s.at.line); at != "" {
		expected += " (" + at + ")"
	}
	lines := []string{expected}
	if s.offHeap {
		if s.variable == "" {
			return append(lines, "it is not on the heap, but part of the program: it is never freed")
		}
		return append(lines, "it is the package variable "+unescapePath(s.variable)+", or part of it, which lives as long as the program")
	}
	if s.Inner && s.Type != "" {
		lines = append(lines, "it is part of a larger object, "+shortName(cleanType(s.Type))+", which is freed as a whole or not at all")
	}
	if s.RetainedObjects > 1 {
		lines = append(lines, fmt.Sprintf("it keeps %s alive, %s", countNoun(s.RetainedObjects, "object"), byteCount(s.RetainedBytes)))
	}
	lines = append(lines, a.pathHeldBy(s.Paths[0])...)
	lines = append(lines, "")
	lines = append(lines, pathLines(s.Paths[0])...)
	if len(s.AllocatedAt) > 0 {
		lines = append(append(lines, "", "allocated at:"), stackLines(s.AllocatedAt, a.env)...)
	}
	for i, p := range s.Paths[1:] {
		if isNamesake(p, s.Paths[:i+1]) {
			continue
		}
		lines = append(lines, "", "cutting that is not enough, it is also "+a.pathHeldBy(p)[0])
		lines = append(lines, pathLines(p)...)
	}
	if len(s.Paths) == maxPaths {
		lines = append(lines, "", "there may be more paths than these")
	}
	return lines
}

// pathHeldBy says in words what a path begins with.
func (a *assertion) pathHeldBy(p refscan.RetainingPath) []string {
	holder := p.Type
	for _, step := range p.Steps {
		if isTestCleanup(holder, step.Name) {
			return []string{"held by a function that was registered with Cleanup, which runs when the test ends"}
		}
		holder = step.Type
	}
	return heldBy(rootBranch(p), a.env)
}

// isNamesake reports whether a path is one of the others under another name: a variable that was passed to
// functions which were inlined goes by their parameters' names, too.
func isNamesake(p refscan.RetainingPath, others []refscan.RetainingPath) bool {
	for _, o := range others {
		if p.Root.Kind == refscan.RootFrame && o.Root.Kind == refscan.RootFrame && p.Root.Func == o.Root.Func &&
			p.Root.CreatedAt == o.Root.CreatedAt && len(p.Steps) == 1 && len(o.Steps) == 1 {
			return true
		}
	}
	return false
}

// rootBranch is the root of a path as the messages' helpers know roots.
func rootBranch(p refscan.RetainingPath) *branch {
	root := p.Root
	return &branch{name: unescapePath(p.Name), path: unescapePath(p.Name), typ: cleanType(p.Type), root: &root}
}

// A link is a reference of a path that was folded: the same one several times in a row is one link.
type link struct {
	name, typ string
	state     string // of what it leads to
	times     int
	watched   bool
	suspect   bool // one of the references of which one should have been dropped
}

const expectedMark = "  ← expected to be garbage"

// pathLines draws a path, one line an edge. If something on it should be gone already, the references up to
// that are marked as suspect.
func pathLines(p refscan.RetainingPath) []string {
	root := rootBranch(p)
	links := foldSteps(p.Steps)
	first := root.name + root.describe()
	if len(links) > 0 && links[0].name == "" { // the variable refers to the object itself
		links[0].name, links[0].suspect = root.name, false
		if links[0].typ == "" {
			links[0].typ = root.typ
		}
		first = links[0].String()
		links = links[1:]
	}
	lines := []string{first}
	over := max(0, len(links)-maxPathLines)
	depth := 0
	for i, l := range links {
		text := ""
		switch {
		case over > 0 && i == maxPathLines/2:
			text = "… " + countNoun(int64(over), "edge") + " more"
		case over > 0 && i > maxPathLines/2 && i < maxPathLines/2+over:
			continue
		default:
			text = l.String()
		}
		lines = append(lines, under(depth, text))
		depth++
	}
	if strings.Contains(strings.Join(lines, "\n"), suspectMark) {
		lines = append(lines, suspectLegend)
	}
	return lines
}

func (l link) String() string {
	s := l.name
	if l.times > 1 {
		s += " × " + count(int64(l.times))
	}
	if l.typ != "" {
		s += "  " + abridge(shortName(l.typ), maxNameShown)
	}
	if l.state != "" {
		s += ", " + l.state
	}
	if l.suspect {
		s += suspectMark
	}
	if l.watched {
		s += expectedMark
	}
	return s
}

// foldSteps folds a path, and marks what leads to the first object that is over, unless that is the last one:
// then all of them are suspect.
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
			name: unescapePath(refscan.FoldName(st.Name)), typ: cleanType(st.Type), state: st.State, times: 1,
			watched: st.Watched > 0, suspect: wrong < len(steps) && i <= wrong,
		}
		if n := len(links); n > 0 && links[n-1].name == l.name && links[n-1].typ == l.typ && links[n-1].state == l.state &&
			links[n-1].suspect == l.suspect && !links[n-1].watched {
			links[n-1].times++
			links[n-1].watched = l.watched
			continue
		}
		links = append(links, l)
	}
	return links
}
