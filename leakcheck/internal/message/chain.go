package message

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

const (
	maxTraceLines = 14 // of one path; the middle of a longer one is left out
	traceHeader   = "   objects       bytes"
	SuspectMark   = "  ~"
	SuspectLegend = "one of the references marked ~ should have been dropped"
)

// suspects returns the indexes of the first and the last branch that a suspect reference leads to.
// These are the references from the objects that are rightly alive to the first that should not be,
// since it grows or its use is over. If no reference is suspect, last is 0.
func suspects(t *tree.Trace) (first, last int) {
	for i, b := range t.Branches {
		switch {
		case b == t.Grows && i > 0:
			return i, i
		case b == t.Grows && b.Recursion != "":
			return 1, 0 // the reference from one of its objects to the next is suspect
		case b == t.Grows || b.IsOver():
			return 1, i
		}
	}
	return 1, 0
}

// Chain returns the references of a trace, each with the figures that its branch has by itself.
func Chain(t *tree.Trace) []verdict.Link {
	links, _ := chain(t)
	return links
}

// chain is Chain, with the branch of each link; nil for a link without figures.
func chain(t *tree.Trace) (links []verdict.Link, branches []*tree.Branch) {
	add := func(l verdict.Link, b *tree.Branch) {
		links, branches = append(links, l), append(branches, b)
	}
	first, last := suspects(t)
	left := max(0, len(t.Branches)-maxTraceLines) // how many are left out
	for i, b := range t.Branches {
		switch {
		case left > 0 && i == maxTraceLines/2:
			add(verdict.Link{Name: "… " + textfmt.CountNoun(int64(left), "edge") + " more"}, nil)
		case left == 0 || i < maxTraceLines/2 || i >= maxTraceLines/2+left:
			about := Describe(b)
			if t.Freed && (t.Cut == nil || t.Cut == b) {
				about += freedNote(b)
			}
			add(verdict.Link{
				Name: b.Name, About: strings.TrimPrefix(about, "  "), Objects: b.Objects, Bytes: b.Bytes, Suspect: first <= i && i <= last,
			}, b)
			if b.Recursion != "" && b.Objects >= 2 && (b == t.Grows || b == t.Last()) {
				add(verdict.Link{Name: b.Recursion, About: TypeText(b) + ", counted above", Back: true, Suspect: b == t.Grows && i == 0}, nil)
			}
		}
	}
	return links, branches
}

// Lines draws the trace, one line an edge, with the figures that each branch has by itself.
func Lines(t *tree.Trace) []string {
	lines := []string{traceHeader}
	links, branches := chain(t)
	marked := false
	depth := 0
	for i, l := range links {
		text := l.Line()
		if l.Suspect {
			text, marked = text+SuspectMark, true
		}
		switch {
		case l.Back && i < len(links)-1:
			text = beside(depth-1, text)
		case depth > 0:
			text = Under(depth-1, text)
		}
		if !l.Back {
			depth++
		}
		before := noFigures
		if branches[i] != nil {
			before = figures(branches[i])
		}
		lines = append(lines, before+text)
	}
	if marked {
		lines = append(lines, SuspectLegend)
	}
	return lines
}

// Under draws a line that hangs on the line above it.
func Under(depth int, text string) string { return fmt.Sprintf("%*s└─ %s", 3*depth, "", text) }

// beside is Under for a line that another line follows at the same depth.
func beside(depth int, text string) string { return fmt.Sprintf("%*s├─ %s", 3*depth, "", text) }

const noFigures = "                        " // as wide as figures

func figures(b *tree.Branch) string {
	switch {
	case b.Objects == 0 && b.Bytes == 0:
		return fmt.Sprintf("%10s  %10s  ", "-", "-")
	case b.IsEntries():
		return fmt.Sprintf("%10s  %10s  ", textfmt.Count(b.Objects), "-")
	}
	return fmt.Sprintf("%10s  %10s  ", textfmt.Count(b.Objects), textfmt.ByteCount(b.Bytes))
}

// freedNote says what cutting a branch of a trace would free.
func freedNote(b *tree.Branch) string {
	if b.Retained == (tree.Tally{}) {
		return ", frees nothing"
	}
	s := ", frees " + textfmt.ByteCount(b.Retained.Bytes)
	if b.Shared.Bytes > 0 {
		s += ", not " + textfmt.ByteCount(b.Shared.Bytes) + " shared"
	}
	return s
}
