package alloc

import (
	"regexp"
	"slices"
	"strings"
)

// A selection is which tests and benchmarks of a test binary run: the values of its flags
// -test.run, -test.bench and -test.skip. An empty bench runs no benchmark, an empty run all tests.
type selection struct{ run, bench, skip string }

// restrictTo restricts the selection to tests among names. It names them in -test.run and
// -test.bench. With -test.skip package testing would compile both patterns anew for each test of a
// binary (go1.26 testing/internal/testdeps/deps.go, MatchString), and so allocate more in a binary
// with more tests; that is left to patterns that select parts of tests as well.
func (s selection) restrictTo(names, others []string) selection {
	if len(others) == 0 {
		return s
	}
	skip, rest, ok := parts(s.skip)
	run, runRest, runOK := parts(s.run)
	bench, benchRest, benchOK := parts(s.bench)
	if !ok || rest != "" || !runOK || !benchOK {
		ours := exactly(others)
		if s.skip != "" {
			ours = s.skip + "|" + ours // package testing splits alternatives before "/"
		}
		return selection{s.run, s.bench, ours}
	}
	var tests, benchmarks []string
	for _, name := range names {
		switch isBenchmark := strings.HasPrefix(name, "Benchmark"); {
		case s.skip != "" && skip.MatchString(name):
		case !isBenchmark && run.MatchString(name):
			tests = append(tests, name)
		case isBenchmark && s.bench != "" && bench.MatchString(name):
			benchmarks = append(benchmarks, name)
		}
	}
	only := selection{run: exactly(tests) + runRest}
	if s.bench != "" {
		only.bench = exactly(benchmarks) + benchRest
	}
	return only
}

// exactly returns a pattern that matches these names; without names, it matches no test.
func exactly(names []string) string {
	if len(names) == 0 {
		return "^$"
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// parts splits a pattern of go test into what matches names of tests and what matches their parts,
// from "/" on. It is not ok if the pattern has a "/" besides alternatives, groups or classes, or
// cannot be compiled.
func parts(pattern string) (name *regexp.Regexp, rest string, ok bool) {
	name0, rest0, found := strings.Cut(pattern, "/")
	if found {
		if strings.ContainsAny(pattern, "|[(") {
			return nil, "", false
		}
		rest = "/" + rest0
	}
	name, err := regexp.Compile(name0)
	return name, rest, err == nil
}

// apply sets the selection's flags among those of a test binary.
func (s selection) apply(args []string) []string {
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return strings.HasPrefix(arg, "-test.run=") || strings.HasPrefix(arg, "-test.bench=") || strings.HasPrefix(arg, "-test.skip=")
	})
	for _, f := range []struct{ name, value string }{{"skip", s.skip}, {"bench", s.bench}, {"run", s.run}} {
		if f.value != "" {
			args = append([]string{"-test." + f.name + "=" + f.value}, args...)
		}
	}
	return args
}
