// Package textfmt writes numbers and lines for people, and tells how far a mistyped name is from
// one that exists.
package textfmt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Enumerate joins items as a sentence does: "a, b and c".
func Enumerate(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

// EnumerateFirst is Enumerate for many items: the first most of them, and how many more there are.
func EnumerateFirst(items []string, most int) string {
	if more := len(items) - most; more > 0 {
		items = append(slices.Clone(items[:most]), fmt.Sprintf("%d more", more))
	}
	return Enumerate(items)
}

// Indent indents lines by four spaces, except empty ones.
func Indent(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if l != "" {
			out[i] = "    " + l
		}
	}
	return out
}

// IndentText is Indent for the lines of a text. The result ends with a line break.
func IndentText(text string) string {
	return strings.Join(Indent(strings.Split(strings.TrimRight(text, "\n"), "\n")), "\n") + "\n"
}

// Abridge leaves out the middle of a long name. Inlined at its calls it would take 16 KB.
//
//go:noinline
func Abridge(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	r := []rune(s)
	return string(r[:limit/2]) + "…" + string(r[len(r)-limit/2+1:])
}

// FirstLine returns the first line of a text, without its line break.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// LastLines returns the last n lines of a text, without the final line break.
func LastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// TreeLine returns how the line of a node begins in a tree that is drawn, and how the lines below
// it do, given how the lines below its parent begin. last says that no sibling follows.
func TreeLine(below string, last bool) (line, next string) {
	if last {
		return below + "└─ ", below + "   "
	}
	return below + "├─ ", below + "│  "
}
