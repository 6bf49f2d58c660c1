package golden

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	tests := []struct{ before, after, want string }{
		{"", "", ""},
		{"a\nb\n", "a\nb\n", ""},
		{"a\r\nb\r\n", "a\nb\n", ""},
		{"", "a\n", "@@ -1,0 +1,1 @@\n+a\n"},
		{"a\n", "", "@@ -1,1 +1,0 @@\n-a\n"},
		{"1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\nX\n5\n6\n7\n", "@@ -2,5 +2,5 @@\n 2\n 3\n-4\n+X\n 5\n 6\n"},
		{"1\n2\n3\n", "0\n1\n2\n3\n4\n", "@@ -1,3 +1,5 @@\n+0\n 1\n 2\n 3\n+4\n"},
		{
			"a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
			"@@ -1,3 +1,3 @@\n-a\n+A\n 1\n 2\n@@ -6,3 +6,3 @@\n 5\n 6\n-b\n+B\n",
		},
		{"a\n1\n2\n3\n4\nb\n", "A\n1\n2\n3\n4\nB\n", "@@ -1,6 +1,6 @@\n-a\n+A\n 1\n 2\n 3\n 4\n-b\n+B\n"},
		{"x\n", "x\nb\nx\n", "@@ -1,1 +1,3 @@\n x\n+b\n+x\n"},
		{"\n\na\n\n\n", "\n\na\nb\n\n\n", "@@ -2,4 +2,5 @@\n \n a\n+b\n \n \n"},
	}
	for _, tt := range tests {
		if got := Diff(tt.before, tt.after); got != tt.want {
			t.Errorf("Diff(%q, %q)\n%s\nwant\n%s", tt.before, tt.after, got, tt.want)
		}
	}
}

func TestDiffIsShort(t *testing.T) {
	var before, after strings.Builder
	for i := range 1000 {
		fmt.Fprintln(&before, i)
		fmt.Fprintln(&after, -i)
	}
	lines := splitLines(Diff(before.String(), after.String()))
	if len(lines) != maxDiffLines {
		t.Errorf("%d lines", len(lines))
	}
	// Line 0 is equal, 999 are removed and 999 added, one line is the header.
	if want := fmt.Sprintf("... %d more lines of the diff left out", 2000-(maxDiffLines-1)); lines[len(lines)-1] != want {
		t.Errorf("last line %q, want %q", lines[len(lines)-1], want)
	}
}

// checkDiff checks that an edit script leads from one text to the other, and that its parts say so.
func checkDiff(before, after []string) error {
	var a, b []string
	edits := editScript(before, after)
	changes := 0
	for _, e := range edits {
		if e.op != '+' {
			a = append(a, e.text)
		}
		if e.op != '-' {
			b = append(b, e.text)
		}
		if e.op != ' ' {
			changes++
		}
	}
	if !slices.Equal(a, before) || !slices.Equal(b, after) {
		return fmt.Errorf("the script of %q and %q is %v", before, after, edits)
	}
	if (changes == 0) != slices.Equal(before, after) {
		return fmt.Errorf("%d changes between %q and %q", changes, before, after)
	}
	// Apply the parts to the old text.
	var got []string
	next := 0
	lines := unified(before, after)
	for i := 0; i < len(lines); {
		var oldStart, oldLen, newStart, newLen int
		if _, err := fmt.Sscanf(lines[i], "@@ -%d,%d +%d,%d @@", &oldStart, &oldLen, &newStart, &newLen); err != nil {
			return fmt.Errorf("expected the head of a part, found %q in %q", lines[i], lines)
		}
		got = append(got, before[next:oldStart-1]...)
		if newStart != len(got)+1 {
			return fmt.Errorf("%s begins at line %d", lines[i], len(got)+1)
		}
		next = oldStart - 1
		for i++; oldLen > 0 || newLen > 0; i++ {
			op, text := lines[i][0], lines[i][1:]
			if op != '+' {
				if before[next] != text {
					return fmt.Errorf("%q is not line %d of the old text", text, next+1)
				}
				next, oldLen = next+1, oldLen-1
			}
			if op != '-' {
				got, newLen = append(got, text), newLen-1
			}
		}
	}
	if got = append(got, before[next:]...); !slices.Equal(got, after) {
		return fmt.Errorf("applied to %q, the diff gives %q, want %q", before, got, after)
	}
	return nil
}

func TestDiffRandom(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(5, 6))}
	text := func() []string {
		var lines []string
		for range g.IntN(20) {
			lines = append(lines, pick(g, "", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"))
		}
		return lines
	}
	for range 20000 {
		if err := checkDiff(text(), text()); err != nil {
			t.Fatal(err)
		}
	}
}
