package leakcheck

import (
	"github.com/leakgate/leakgate/leakcheck/internal/alloc"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/growth"
	"github.com/leakgate/leakgate/leakcheck/internal/peak"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// AssertNoGrowth calls op again and again, and fails if memory grows with the number of calls: the
// objects of a path, the bytes of a slice or other memory, goroutines or the depth of their stacks,
// pending timers, and resources of the operating system.
//
//	leakcheck.AssertNoGrowth(t, func() {
//		srv.Login().Logout()
//	})
//
// Memory that is filled once, grows slower and slower, or comes and goes is no leak. A cache that
// is not full after all these calls looks like one: give Warmup enough calls to fill it, or make it
// smaller. The number of calls follows from how long op takes: 500 for a fast op and 4 for one that
// takes a second, 8,000 and 32 before a failure. Iterations and Warmup override that, Scope and
// Ignore restrict what counts. doc/growth.md has the rules, and what may pass for want of Full.
//
// It returns false if it failed the test, which goes on; it panics if t is nil. A panic of op is
// not caught, and op may end the test with t.FailNow. If op fails the test with t.Error, it is not
// called again. In each of these cases the log has what op left until then.
//
// A pass costs 2 to 5 garbage collections, where counters prove that nothing is new, and otherwise
// some snapshots, each as for AssertRetained. Growth of tests that run at the same time counts,
// too: call AssertNoGrowth in tests that are not parallel, or with Scope.
func AssertNoGrowth(t TestingT, op func(), opts ...GrowthOption) bool {
	environ.NeedT(t, "AssertNoGrowth")
	t.Helper()
	r := newGrowthRequest(op, opts)
	defer r.Close()
	return growth.AssertNoGrowth(assertion.About(r.Process), t, environ.CallSite(1), op, r, growth.SourceOf(r.Process))
}

// A CallOption says how often an operation is called: Iterations and Warmup.
type CallOption interface {
	GrowthOption
	AllocOption
	PeakOption
}

// Iterations sets how often AssertNoGrowth calls its op in the first batch. The second, third and
// fourth batch each have twice as many calls as the one before; the fourth runs only before a
// failure. If slices have spare capacity for what calls append, a batch has as many calls as fill
// them, up to those of the fourth. For AssertAllocs it is the number of calls that are counted, and
// for AssertPeak the number that are watched.
func Iterations(n int) CallOption {
	return callSetting(func(c *request.Calls) {
		if c.Iterations = n; n < 1 {
			c.Problem("Iterations(%d): op must be called at least once a batch", n)
		}
	})
}

// Warmup sets how often AssertNoGrowth calls its op before the first snapshot: at least often
// enough to fill every cache that op uses. Without Warmup, op is called twice at least, and as
// often as in the first batch unless it is slow. AssertAllocs calls op n times before it counts,
// and AssertPeak before it watches.
func Warmup(n int) CallOption {
	return callSetting(func(c *request.Calls) {
		if c.Warmup = n; n < 1 {
			c.Problem("Warmup(%d): op must be called at least once before the first snapshot", n)
		}
	})
}

type callSetting func(*request.Calls)

func (s callSetting) applyGrowth(r *request.Request) { s(&r.Calls) }

func (s callSetting) applyAllocs(r *alloc.Request) { s(&r.Calls) }

func (s callSetting) applyPeak(r *peak.Request) { s(&r.Calls) }

func newGrowthRequest(op func(), opts []GrowthOption) *request.Request {
	r := &request.Request{}
	if op == nil {
		r.Problem("AssertNoGrowth: op is nil")
	}
	eachOption(opts, r.Problem, func(o GrowthOption) { o.applyGrowth(r) })
	r.Check()
	return r
}
