package policy

import (
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// A textRule forbids a text in tracked files. Expressions are written so that they do not match
// themselves.
type textRule struct {
	name      string
	forbidden *regexp.Regexp
	files     func(file string) bool
}

var textRules = []textRule{
	{
		"a path of one machine",
		regexp.MustCompile(`(?:^|[^\w./*~$}-])/(?:work|root)(?:/|\b)`),
		everyFile,
	},
	{
		"a host of a package registry",
		regexp.MustCompile(`\b(?:proxy|sum|registry|deb|pypi|mirrors?)\.(?:[a-z0-9-]+\.)*(?:org|com|net|io|dev|cloud)\b`),
		func(file string) bool { return path.Base(file) != "go.sum" },
	},
	{
		"an unfinished thing",
		regexp.MustCompile(`\b(?:TO[D]O|FIX[M]E|X[X]X)\b`),
		func(file string) bool { return strings.HasSuffix(file, ".go") || strings.HasSuffix(file, ".md") },
	},
	{
		"a Windows line end",
		regexp.MustCompile(`\r$`),
		func(file string) bool { return !strings.Contains(file, "/testdata/") },
	},
}

func everyFile(string) bool { return true }

func TestText(t *testing.T) {
	for _, file := range trackedFiles(t) {
		content := readFile(t, file)
		if !utf8.ValidString(content) || strings.Contains(content, "\x00") {
			continue // not text
		}
		number := 0
		for line := range strings.Lines(content) {
			number++
			line = strings.TrimSuffix(line, "\n")
			for _, rule := range textRules {
				if m := rule.forbidden.FindString(line); m != "" && rule.files(file) {
					t.Errorf("%s:%d: %s: %q", file, number, rule.name, m)
				}
			}
		}
	}
}

// No file is larger than one that a person writes: a built command that is committed stays in every
// clone for ever.
func TestNoLargeFile(t *testing.T) {
	const most = 1 << 20
	for _, file := range trackedFiles(t) {
		if n := len(readFile(t, file)); n > most {
			t.Errorf("%s has %d bytes, more than %d", file, n, most)
		}
	}
}

// TestTextRules checks the expressions themselves.
func TestTextRules(t *testing.T) {
	matches := []struct {
		rule int
		line string
		want bool
	}{
		{0, "see /" + "work/main", true},
		{0, `"/` + `root/x"`, true},
		{0, "the app/work queue", false},
		{0, "https://example.com/work", false},
		{0, "./work/x and $HOME/work", false},
		{0, "/workers", false},
		{1, "https://proxy." + "example.org", true},
		{1, "registry." + "example.org/x", true},
		{1, "proxy.Close()", false},
		{1, "registry.go:12", false},
		{1, "sum.bytes += 2", false},
		{2, "// TO" + "DO: later", true},
		{2, "TODOS", false},
		{3, "x\r", true},
	}
	for _, m := range matches {
		if got := textRules[m.rule].forbidden.MatchString(m.line); got != m.want {
			t.Errorf("%s: %q: got %t, want %t", textRules[m.rule].name, m.line, got, m.want)
		}
	}
}
