package repeat

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// label names a registered function, and the only subtest that is wanted of it.
func (f *registered) label() string {
	if f.only == "" {
		return f.name
	}
	return f.name + "/" + f.only
}

// pattern is what -test.run says to run of a test, where users is what the user said of all.
func (f *registered) pattern(users string) string {
	if f.only == "" {
		return users
	}
	return "^" + regexp.QuoteMeta(f.name) + "$/^" + regexp.QuoteMeta(f.only) + "$"
}

// A matcher matches names with patterns, each of which it compiles once.
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

// maxSubtests is how many subtests of a test are told apart.
const maxSubtests = 100

// findSubtests calls a test once more, and returns the names of its own subtests, as package
// testing made them unique; nil if it has more than are told apart.
func (r *runner) findSubtests(f *registered) []string {
	const of = "leakgate" // what package testing asks about subtests
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
	// It first asks whether the pattern is one, with a name of no subtest.
	names = slices.DeleteFunc(names, func(name string) bool { return name == "non-empty" || strings.Contains(name, "/") })
	if len(names) > maxSubtests {
		return nil
	}
	return names
}
