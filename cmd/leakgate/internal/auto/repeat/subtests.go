package repeat

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// label names a registered function, with the subtest if only one is wanted.
func (f *registered) label() string {
	if f.only == "" {
		return f.name
	}
	return f.name + "/" + f.only
}

// pattern returns the value of -test.run for a call of a test. users is the user's own pattern.
func (f *registered) pattern(users string) string {
	if f.only == "" {
		return users
	}
	return "^" + regexp.QuoteMeta(f.name) + "$/^" + regexp.QuoteMeta(f.only) + "$"
}

// A matcher matches names against patterns. It compiles each pattern once.
type matcher struct{ compiled map[string]*regexp.Regexp }

func (m *matcher) match(pattern, name string) (bool, error) {
	re := m.compiled[pattern]
	if re == nil {
		var err error
		if re, err = regexp.Compile(pattern); err != nil {
			return false, err
		}
		if m.compiled == nil {
			m.compiled = make(map[string]*regexp.Regexp)
		}
		m.compiled[pattern] = re
	}
	return re.MatchString(name), nil
}

// maxSubtests is the most subtests of a test that are told apart.
const maxSubtests = 100

// findSubtests calls a test once more, and returns the names of its direct subtests, as package
// testing made them unique; nil if there are more than maxSubtests.
func (r *runner) findSubtests(f *registered) []string {
	const of = "leakgate" // the pattern with which package testing asks about subtests
	var names []string
	match := func(pattern, name string) (bool, error) {
		if pattern == of && !slices.Contains(names, name) {
			names = append(names, name)
		}
		return true, nil
	}
	r.mark(f.label())
	setRun("test/" + of)
	testing.RunTests(match, []testing.InternalTest{f.test})
	setRun("")
	_ = r.restore() // there is no call after this one
	// Package testing first tries the pattern on a name that is no subtest's.
	names = slices.DeleteFunc(names, func(name string) bool { return name == "non-empty" || strings.Contains(name, "/") })
	if len(names) > maxSubtests {
		return nil
	}
	return names
}
