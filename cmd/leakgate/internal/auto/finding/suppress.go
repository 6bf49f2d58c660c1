package finding

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// SuppressionsFile is the file's name, in the folder where leakgate runs.
const SuppressionsFile = "leakgate.ignore"

// Suppressions are the content of the file that says what leakgate run -auto is not to report, and
// why. They may be used by several goroutines.
//
// Each line has a pattern, white space, and a reason. Empty lines and those that begin with "#" are
// skipped. A pattern is written as for leakcheck.Ignore: a path from a root, or a goroutine's
// function, with all below; "*" is any run of characters without "/", "**" and "..." any run, "[*]"
// stands for itself; the first elements of an import path may be left out.
type Suppressions struct {
	mu    sync.Mutex
	lines []suppression
}

type suppression struct {
	number  int
	pattern string
	reason  string
	match   *regexp.Regexp
	used    bool
}

// LoadSuppressions reads the file in a folder. Without a file the list is empty. A syntax error
// names the line.
func LoadSuppressions(dir string) (*Suppressions, error) {
	data, err := os.ReadFile(filepath.Join(dir, SuppressionsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return &Suppressions{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parseSuppressions(string(data))
}

func parseSuppressions(text string) (*Suppressions, error) {
	l := &Suppressions{}
	number := 0
	for s := range strings.Lines(text) {
		number++
		s = strings.TrimSpace(s)
		if s == "" || strings.HasPrefix(s, "#") {
			continue
		}
		end := strings.IndexAny(s, " \t")
		if end < 0 {
			return nil, fmt.Errorf("%s:%d: %s has no reason: write why after the pattern", SuppressionsFile, number, s)
		}
		match, err := compilePattern(s[:end])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", SuppressionsFile, number, err)
		}
		l.lines = append(l.lines, suppression{number, s[:end], strings.TrimSpace(s[end:]), match, false})
	}
	return l, nil
}

// compilePattern makes a regular expression of a pattern.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString(`^(?:.*/)?`)
	for rest := pattern; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "[*]"):
			b.WriteString(`\[\*\]`)
			rest = rest[len("[*]"):]
		case strings.HasPrefix(rest, "(*") && len(rest) > 2 && rest[2] != '*' && rest[2] != ')':
			b.WriteString(`\(\*`)
			rest = rest[len("(*"):]
		case strings.HasPrefix(rest, "**"):
			b.WriteString(`.*`)
			rest = rest[len("**"):]
		case strings.HasPrefix(rest, "..."):
			b.WriteString(`.*`)
			rest = rest[len("..."):]
		case rest[0] == '*':
			b.WriteString(`[^/]*`)
			rest = rest[1:]
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
			rest = rest[1:]
		}
	}
	b.WriteString(`(?:[.\[(].*)?$`) // and all below
	match, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fmt.Errorf("pattern %s: it is not UTF-8", pattern)
	}
	return match, nil
}

// Match returns the reason of the first line whose pattern matches one of names, and whether there
// is such a line.
func (l *Suppressions) Match(names ...string) (reason string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.lines {
		for _, name := range names {
			if name != "" && l.lines[i].match.MatchString(name) {
				l.lines[i].used = true
				return l.lines[i].reason, true
			}
		}
	}
	return "", false
}

// Patterns returns all patterns.
func (l *Suppressions) Patterns() []string {
	var all []string
	for i := range l.lines {
		all = append(all, l.lines[i].pattern)
	}
	return all
}

// Stale returns the patterns that have matched nothing, each with its file and line.
func (l *Suppressions) Stale() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var stale []string
	for _, s := range l.lines {
		if !s.used {
			stale = append(stale, fmt.Sprintf("%s:%d: %s", SuppressionsFile, s.number, s.pattern))
		}
	}
	return stale
}
