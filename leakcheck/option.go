package leakcheck

import (
	"fmt"

	"github.com/leakgate/leakgate/refscan"
)

// An Option is a Bound, what a GoroutineSelector or StackSelector gives, or one of Scope, Ignore, Golden, Since,
// Iterations and Warmup. The set is closed.
type Option interface {
	apply(*request)
}

// A setting is every Option that is not a Bound.
type setting func(*request)

func (s setting) apply(r *request) { s(r) }

// A request is what one assertion was asked for. Options that make no sense leave a sentence in
// problems, which the assertion reports; nothing panics.
type request struct {
	bounds   []*Bound
	scope    []packages // empty: the default
	ignores  []ignoring
	golden   string // name given with Golden, "" for the test's own
	baseline *Baseline
	problems []string

	goroutines goroutineChecks // nil if no option is about goroutines
	cuts       *cutRequest     // nil if no option is about what cutting would free
	holders    holderSearch    // nil: messages do not say who else holds something

	iterations, warmup int      // of AssertNoGrowth, 0 if not given
	growthOnly         []string // options that only AssertNoGrowth takes, as written
}

// A holderSearch finds out who else holds what a message traces. It is an interface so that a test binary which needs none
// does not link it.
type holderSearch interface {
	// expectOf takes note of what a message about an evaluation would trace.
	expectOf(*evaluation)
	// after returns what to do with the next snapshot: also, which may be nil, and the search.
	after(also func(*refscan.Snapshot) error) func(*refscan.Snapshot) error
	// tell returns lines for a message below a trace.
	tell(*trace, *environment) []string
}

// newHolderSearch is nil unless the test was built with the tag leakgate, as leakgate run does: it would add 20 KB to
// every test binary.
var newHolderSearch func() holderSearch

func (r *request) alsoHeld(t *trace, env *environment) []string {
	if r.holders == nil {
		return nil
	}
	return r.holders.tell(t, env)
}

func newRequest(opts []Option) *request {
	r := gatherOptions(opts)
	if r.holders == nil && newHolderSearch != nil {
		r.holders = newHolderSearch()
	}
	if r.golden != "" && r.bounded() {
		r.problem("Golden(%q) beside a bound: a golden file is compared only where no bound is given; use two assertions", r.golden)
	}
	if r.goroutines != nil {
		r.problems = append(r.problems, r.goroutines.problems(r)...)
	}
	if r.cuts != nil {
		r.cuts.check(r)
	}
	for _, o := range r.growthOnly {
		r.problem("%s: only AssertNoGrowth calls something repeatedly", o)
	}
	return r
}

func gatherOptions(opts []Option) *request {
	r := &request{}
	for i, o := range opts {
		if o == nil {
			r.problem("option %d is nil", i+1)
			continue
		}
		o.apply(r)
	}
	return r
}

//go:noinline
func (r *request) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// Scope names the packages whose roots count, by import path: "example.com/app", "example.com/app/..."
// (and all below), "example.com/*/store". The last elements of a path do: "app/store". A root belongs to
// the package that declares the variable, or, for a goroutine's variable, to that of the function, of
// the goroutine's entry function and of the one that created it.
//
// Without Scope, a comparison with a golden file takes the roots of the module under test and leaves
// out the test functions' own variables; bounds take all roots.
func Scope(patterns ...string) Option {
	return setting(func(r *request) {
		if len(patterns) == 0 {
			r.problem("Scope() names no package")
		}
		for _, text := range patterns {
			compiled, err := compileScope(text)
			if err != nil {
				r.problem("Scope(%q): %v", text, err)
				continue
			}
			r.scope = append(r.scope, compiled)
		}
	})
}

// Ignore leaves out what lies at the paths that match pattern (see Path), with all below, for the given
// reason. What was left out is listed in failure messages; an Ignore that matched nothing is logged, so
// that it can be deleted.
func Ignore(pattern, reason string) Option {
	return setting(func(r *request) {
		p, err := compilePathPattern(pattern)
		switch {
		case err != nil:
			r.problem("Ignore(%q): %v", pattern, err)
		case reason == "":
			r.problem("Ignore(%q): the reason is empty; say why this memory may stay", pattern)
		default:
			r.ignores = append(r.ignores, ignoring{pattern: p, reason: reason})
		}
	})
}

// Golden compares with the file testdata/leakcheck/<name>.golden instead of the one named after the test.
// A name may have slashes; it cannot lead out of that folder.
func Golden(name string) Option {
	return setting(func(r *request) {
		switch {
		case name == "":
			r.problem("Golden(\"\"): the name is empty")
		case r.golden != "":
			r.problem("Golden(%q) beside Golden(%q): an assertion compares with one file", name, r.golden)
		default:
			r.golden = name
		}
	})
}

// Since counts only what is retained beyond the baseline. A bound takes the growth of all that its
// selector matches; a golden file takes the growth of each path.
func Since(b *Baseline) Option {
	return setting(func(r *request) {
		switch {
		case b == nil:
			r.problem("Since(nil): take the baseline with TakeBaseline")
		case r.baseline != nil:
			r.problem("Since is given twice")
		default:
			r.baseline = b
		}
	})
}
