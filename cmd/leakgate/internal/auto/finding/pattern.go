package finding

import (
	"regexp"
	"slices"
	"strings"
)

// Pattern returns the -run pattern that selects some functions, or some subtests of one test.
func Pattern(functions []string) string {
	var tests, subtests []string
	for _, f := range functions {
		test, subtest, ok := strings.Cut(f, "/")
		if !slices.Contains(tests, test) {
			tests = append(tests, test)
		}
		if ok {
			subtests = append(subtests, regexp.QuoteMeta(subtest))
		}
	}
	pattern := exactly(tests)
	if len(subtests) > 0 {
		pattern += "/" + exactly(subtests)
	}
	return pattern
}

// exactly returns a pattern that matches several names and nothing else.
func exactly(names []string) string {
	if len(names) == 1 {
		return "^" + names[0] + "$"
	}
	return "^(" + strings.Join(names, "|") + ")$"
}
