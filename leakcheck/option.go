package leakcheck

import "github.com/leakgate/leakgate/leakcheck/internal/request"

// An Option is a Bound, an option made from a GoroutineSelector, StackSelector, ResourceSelector or
// NativeSelector, or one of Scope, Ignore, Golden, Since, InProcess and Full. The set is closed.
type Option interface {
	apply(*request.Request)
}

// A GrowthOption is one of Scope, Ignore, Iterations, Warmup, InProcess, InReports and Full. The
// set is closed.
type GrowthOption interface {
	applyGrowth(*request.Request)
}

// A Filter restricts what counts: Scope and Ignore. It is an option of all assertions.
type Filter interface {
	Option
	GrowthOption
}

// An AnyOption is an option of all assertions that leaves what counts as it is: Full.
type AnyOption interface {
	Option
	GrowthOption
}

type setting func(*request.Request)

func (s setting) apply(r *request.Request) { s(r) }

type filter func(*request.Request)

func (f filter) apply(r *request.Request) { f(r) }

func (f filter) applyGrowth(r *request.Request) { f(r) }

func newRequest(opts []Option) *request.Request {
	r := &request.Request{}
	eachOption(opts, r.Problem, func(o Option) { o.apply(r) })
	r.Check()
	return r
}

// eachOption calls apply for each option, and problem for those that are nil.
func eachOption[O any](opts []O, problem func(string, ...any), apply func(O)) {
	for i, o := range opts {
		if any(o) == nil {
			problem("option %d is nil", i+1)
			continue
		}
		apply(o)
	}
}

// Scope names the packages whose roots count, by import path: "example.com/app",
// "example.com/app/..." (and all below), "example.com/*/store". The last elements of a path are
// enough: "app/store". So is the package's name, where the path does not end in it: "cache" for
// github.com/patrickmn/go-cache. A root belongs to the package that declares the variable. A
// goroutine's variable belongs to the package of its function, to that of the goroutine's entry
// function, and to that of the function that created the goroutine. What a root in scope holds
// counts, even if a root out of scope holds it, too.
//
// Without Scope, a comparison with a golden file takes the roots of the module under test and
// leaves out the test functions' own variables; bounds take all roots. In a test binary without
// build information, as Bazel makes them, that module is not known, and a golden file needs a
// Scope.
func Scope(patterns ...string) Filter {
	return filter(func(r *request.Request) { r.Narrow(patterns) })
}

// Ignore leaves out the objects at the paths that match pattern (see Path), with all below, for the
// given reason, but for what something else holds, too. AssertNoGrowth leaves out the goroutines,
// too, that run or were started by a function that matches, with their stacks, and resources of the
// operating system with such a name. Failure messages and the log list what was left out; an Ignore
// that matched nothing is logged, so that it can be deleted.
func Ignore(pattern, reason string) Filter {
	return filter(func(r *request.Request) { r.Ignore(pattern, reason) })
}

// Full asks for snapshots that are scanned as a whole, even if less would prove that an assertion
// holds: for the audit against the garbage collector that belongs to each scan, for the figures and
// files that a scan leaves, and for objects that the proof does not see (see AssertNoGrowth and
// Root). With Full, AssertNoGrowth also ends each batch of calls when the tickers and timers have
// fired that are due within five seconds. Failures are always judged in full. LEAKGATE_FULL=1,
// which leakgate run -full sets, asks for it in all assertions of a process.
func Full() AnyOption {
	return filter(func(r *request.Request) { r.Full = true })
}

// Golden compares with the file testdata/leakcheck/<name>.golden instead of the one named after the
// test. A name may have slashes; it cannot lead out of that folder.
func Golden(name string) Option {
	return setting(func(r *request.Request) { r.CompareWith(name) })
}

// Since counts only memory that is retained beyond the baseline. For a bound that is the growth of
// all that its selector matches; for a golden file it is the growth of each path.
func Since(b *Baseline) Option {
	return setting(func(r *request.Request) {
		switch {
		case b == nil:
			r.Problem("Since(nil): take the baseline with TakeBaseline")
		case r.Baseline != nil:
			r.Problem("Since is given twice")
		default:
			r.Baseline = &b.of
		}
	})
}
