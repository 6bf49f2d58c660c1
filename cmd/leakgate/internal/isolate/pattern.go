package isolate

import (
	"regexp"
	"slices"
	"strings"
)

// patternFor returns the -run pattern of one test: it runs the test alone, with those of its
// subtests that run selects; "" if run does not select the test. A pattern that does not compile is
// left as it is, for package testing to report.
func patternFor(run, test string) string {
	only := "^" + regexp.QuoteMeta(test) + "$"
	if run == "" {
		return only
	}
	var parts []string
	for _, alternative := range split(run, '|') {
		elements := split(alternative, '/')
		re, err := regexp.Compile(underscored(elements[0]))
		if err != nil {
			return run
		}
		if re.MatchString(test) {
			parts = append(parts, strings.Join(append([]string{only}, elements[1:]...), "/"))
		}
	}
	if slices.Contains(parts, only) {
		return only // the other parts select less
	}
	return strings.Join(parts, "|")
}

// underscored replaces spaces in a pattern by underscores, as names of tests have them.
func underscored(pattern string) string { return strings.ReplaceAll(pattern, " ", "_") }

// split splits a pattern as package testing does (go1.26 testing/match.go, splitRegexp): at a
// separator that is not in brackets or parentheses, and not escaped.
func split(pattern string, separator byte) []string {
	var parts []string
	begin, class, group := 0, 0, 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			class++
		case c == ']':
			class = max(0, class-1)
		case c == '(' && class == 0:
			group++
		case c == ')' && class == 0:
			group--
		case c == separator && class == 0 && group == 0:
			parts = append(parts, pattern[begin:i])
			begin = i + 1
		}
	}
	return append(parts, pattern[begin:])
}
