package finding

import (
	"regexp"
	"slices"
	"strings"
)

// Pattern is what -run says to run some functions, or some subtests of one test.
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

// exactly is a pattern for one of several names.
func exactly(names []string) string {
	if len(names) == 1 {
		return "^" + names[0] + "$"
	}
	return "^(" + strings.Join(names, "|") + ")$"
}
