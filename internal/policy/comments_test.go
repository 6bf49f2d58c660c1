package policy

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	commentWidth = 100 // columns, of which a tab takes tabWidth
	tabWidth     = 4
)

// prose is a line with nothing but text of a comment: no code before it, no directive, and none of
// the indented blocks that go doc shows as they are, but for lists.
var prose = regexp.MustCompile(`^\s*// (?:\S|  - |    \S)`)

// TestCommentWidth checks that the text of comments is wrapped at 100 columns. The expected output
// of examples may be wider.
func TestCommentWidth(t *testing.T) {
	for _, file := range trackedFiles(t) {
		if !strings.HasSuffix(file, ".go") || strings.Contains(file, "/testdata/") {
			continue
		}
		number, output := 0, false
		for line := range strings.Lines(readFile(t, file)) {
			number++
			line = strings.TrimSuffix(line, "\n")
			output = strings.HasPrefix(strings.TrimSpace(line), "//") && (output || strings.TrimSpace(line) == "// Output:")
			if output || !prose.MatchString(line) || strings.Contains(line, "://") {
				continue
			}
			if n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", strings.Repeat(" ", tabWidth))); n > commentWidth {
				t.Errorf("%s:%d: a comment of %d columns: wrap it at %d", file, number, n, commentWidth)
			}
		}
	}
}
