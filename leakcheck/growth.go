package leakcheck

import (
	"fmt"
	"os"
	"strings"
)

// AssertNoGrowth calls op again and again, and fails if memory grows with the number of calls.
//
//	leakcheck.AssertNoGrowth(t, func() {
//		srv.Login().Logout()
//	})
//
// After some calls to warm up, op is called in batches, each of twice as many calls as the one before,
// with a snapshot between them. What fails is a path whose objects grow in every batch in proportion
// to its calls, a slice or other memory whose bytes do so, or goroutines that pile up. What is filled
// once, grows slower and slower, or comes and goes is no leak. Where op leaves nothing behind, one batch
// and two snapshots are enough; before a failure there is a fourth batch, and what is still ending
// is waited for.
//
// The number of calls follows from how long op takes: if all is well, 500 of a fast op, and 4 of one
// that takes a second; before a failure 4,000 and 32. Iterations and Warmup override that. A cache that is
// not full after all these calls looks like a leak: give Warmup enough calls to fill it, or make it smaller.
//
// All roots count: package variables, goroutines, finalizers, the test's own variables, and what op itself
// refers to. What the standard library keeps on purpose, such as the idle connections of
// http.DefaultTransport, is logged instead, unless types of other packages are part of it. What the testing
// package keeps until the test ends, such as functions registered with t.Cleanup, does not count.
// Scope and Ignore narrow that down; bounds, Golden and Since have no meaning here.
//
// It returns false if it failed the test, which goes on. A panic of op is not caught, and op may end
// the test with t.FailNow. Where op fails the test with t.Error, it is not called again, and growth is not checked. Tests that run at the same time grow too: call it in tests that are
// not parallel, or with Scope. Each snapshot costs as much as that of AssertRetained.
func AssertNoGrowth(t TestingT, op func(), opts ...Option) bool {
	if t == nil {
		fmt.Fprintln(os.Stderr, "leakcheck: AssertNoGrowth:", errNoTest)
		return false
	}
	t.Helper()
	return thisProcess().assertNoGrowth(t, callSite(1), op, opts, countGoroutines)
}

// Iterations sets how often AssertNoGrowth calls its op in the first batch. The second batch has twice
// as many calls, the third twice as many again; the fourth, which runs only before a failure, too.
func Iterations(n int) Option {
	return setting(func(r *request) {
		if n < 1 {
			r.problem("Iterations(%d): op must be called at least once a batch", n)
		}
		r.iterations = n
		r.growthOnly = append(r.growthOnly, fmt.Sprintf("Iterations(%d)", n))
	})
}

// Warmup sets how often AssertNoGrowth calls its op before the first snapshot: at least often enough to
// fill every cache that op uses. Without it, that is twice at least, and as often as in the first batch
// unless op is slow.
func Warmup(n int) Option {
	return setting(func(r *request) {
		if n < 1 {
			r.problem("Warmup(%d): op must be called at least once before the first snapshot", n)
		}
		r.warmup = n
		r.growthOnly = append(r.growthOnly, fmt.Sprintf("Warmup(%d)", n))
	})
}

func newGrowthRequest(op func(), opts []Option) *request {
	r := gatherOptions(opts)
	if op == nil {
		r.problem("AssertNoGrowth: op is nil")
	}
	for _, b := range r.bounds {
		r.problem("%s: a bound has no meaning for AssertNoGrowth, which allows no growth at all; use AssertRetained", b)
	}
	if r.goroutines != nil {
		r.problem("%s: AssertNoGrowth allows no goroutines to pile up; use AssertRetained", strings.Join(r.goroutines.names(), ", "))
	}
	if r.cuts != nil && len(r.cuts.recorded) > 0 {
		r.problem("%s.RetainedRecorded(): AssertNoGrowth compares with no file; use AssertRetained", r.cuts.recorded[0].shown)
	}
	if r.golden != "" {
		r.problem("Golden(%q): AssertNoGrowth compares with no file; use AssertRetained", r.golden)
	}
	if r.baseline != nil {
		r.problem("Since: AssertNoGrowth compares its own snapshots; use AssertRetained")
	}
	return r
}

// A goroutineCounter tells how many goroutines there are of each origin.
type goroutineCounter func() map[goroutineOrigin]goroutines

func (c *checker) assertNoGrowth(t TestingT, at site, op func(), opts []Option, goroutines goroutineCounter) bool {
	t.Helper()
	a := &assertion{checker: c, t: t, env: c.environment(), req: newGrowthRequest(op, opts), test: testName(t), at: at}
	var o *outcome
	if len(a.req.problems) > 0 {
		o = misuse("%s", strings.Join(a.req.problems, "\n    "))
	} else {
		held := holdOp(op)
		x := &experiment{assertion: a, op: op, count: goroutines}
		o = x.judge()
		held.release()
		if o == nil {
			t.Logf("leakcheck: whether memory grows was not checked, because op failed the test in call %s", count(x.calls))
			return false
		}
	}
	a.keep(o)
	return o.report(t)
}
