package golden

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

const (
	diffContext  = 2  // equal lines shown around a change
	maxDiffLines = 40 // of a Diff, so that a failure message stays readable
)

// Diff returns what has to change in the text before to make it after, as a unified diff without
// the names: lines that begin with "-", "+" or a space, and "@@" lines between parts. It returns ""
// for equal texts; CRLF counts as LF. It is at most 40 lines long, with a last line that says how
// much is left out. It takes time proportional to n log n for n lines.
func Diff(before, after string) string {
	lines := unified(diffLines(before), diffLines(after))
	if over := len(lines) - maxDiffLines; over > 0 {
		lines = append(lines[:maxDiffLines-1], fmt.Sprintf("... %d more lines of the diff left out", over+1))
	}
	return joinLines(lines)
}

func diffLines(text string) []string {
	return splitLines(strings.ReplaceAll(text, "\r\n", "\n"))
}

// An edit is one line of a diff: ' ' kept, '-' only before, '+' only after.
type edit struct {
	op   byte
	text string
}

// unified lays out the edits in parts: every change with the equal lines near it.
func unified(before, after []string) []string {
	edits := editScript(before, after)
	shown := make([]bool, len(edits))
	for i, e := range edits {
		if e.op != ' ' {
			for j := max(i-diffContext, 0); j <= min(i+diffContext, len(edits)-1); j++ {
				shown[j] = true
			}
		}
	}
	var out []string
	oldLine, newLine := 1, 1
	part := -1 // index in out of the current part's @@ line
	var oldStart, newStart int
	for i, e := range edits {
		if shown[i] && part < 0 {
			part, oldStart, newStart = len(out), oldLine, newLine
			out = append(out, "")
		}
		if e.op != '+' {
			oldLine++
		}
		if e.op != '-' {
			newLine++
		}
		if !shown[i] {
			part = -1
			continue
		}
		out = append(out, string(e.op)+e.text)
		out[part] = fmt.Sprintf("@@ -%d,%d +%d,%d @@", oldStart, oldLine-oldStart, newStart, newLine-newStart)
	}
	return out
}

// editScript finds the edits by a patience diff: lines that are unique in both texts and in the
// same order in both are kept, and the lines between them are compared at their ends. Nearly every
// line of a golden file is unique, since no two entries are equal.
func editScript(before, after []string) []edit {
	var edits []edit
	add := func(op byte, lines []string) {
		for _, l := range lines {
			edits = append(edits, edit{op, l})
		}
	}
	between := func(before, after []string) {
		prefix := commonPrefix(before, after)
		add(' ', before[:prefix])
		before, after = before[prefix:], after[prefix:]
		suffix := commonSuffix(before, after)
		add('-', before[:len(before)-suffix])
		add('+', after[:len(after)-suffix])
		add(' ', before[len(before)-suffix:])
	}
	i, j := 0, 0
	for _, a := range anchors(before, after) {
		between(before[i:a.before], after[j:a.after])
		add(' ', before[a.before:a.before+1])
		i, j = a.before+1, a.after+1
	}
	between(before[i:], after[j:])
	return edits
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// An anchor is a line that two texts have in common: its index in each.
type anchor struct{ before, after int }

// anchors returns the longest sequence of lines that are unique in both texts and ascend in both.
func anchors(before, after []string) []anchor {
	type count struct{ before, after, at int }
	counts := make(map[string]count, len(before)+len(after))
	for _, l := range before {
		c := counts[l]
		c.before++
		counts[l] = c
	}
	for i, l := range after {
		c := counts[l]
		c.after, c.at = c.after+1, i
		counts[l] = c
	}
	var common []anchor
	for i, l := range before {
		if c := counts[l]; c.before == 1 && c.after == 1 {
			common = append(common, anchor{i, c.at})
		}
	}

	// Longest ascending sequence of after: best[k] is the index in common of the smallest end of a
	// sequence of k+1 anchors, previous links each anchor to the one before it in its sequence.
	var best []int
	previous := make([]int, len(common))
	for i, a := range common {
		k := sort.Search(len(best), func(j int) bool { return common[best[j]].after >= a.after })
		previous[i] = -1
		if k > 0 {
			previous[i] = best[k-1]
		}
		if k == len(best) {
			best = append(best, i)
		} else {
			best[k] = i
		}
	}
	if len(best) == 0 {
		return nil
	}
	var out []anchor
	for i := best[len(best)-1]; i >= 0; i = previous[i] {
		out = append(out, common[i])
	}
	slices.Reverse(out)
	return out
}
