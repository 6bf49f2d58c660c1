package leakcheck

import (
	"github.com/leakgate/leakgate/leakcheck/internal/alloc"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// AssertAllocs calls op and fails the test if one call allocates more than the bounds allow.
//
//	leakcheck.AssertAllocs(t, func() { srv.Login().Logout() },
//		leakcheck.Type[*app.Session]().MaxAllocsPerOp(1),
//		leakcheck.AllAllocs().MaxAllocsPerOp(12).MaxBytesPerOp(2048))
//
// Counts are exact. They include the goroutine that calls op and those that op starts, and no
// others, so tests may run in parallel. Strings and other memory without a type count in AllAllocs.
// op is called four times to warm up, and then 100 times, or as often as half a second allows;
// Warmup and Iterations override that. A bound is broken if the calls allocate more than 5 % of a
// call beyond it, in two rounds. Without a bound AssertAllocs compares with the golden file
// testdata/leakcheck/<Test>~go1.26.golden, one for each Go version. doc/allocations.md has the
// rules.
//
// It returns false if it failed the test, which goes on; it panics if t is nil. The verdict is
// unknown if the execution tracer is in use (go test -trace, a flight recorder), in a bubble of
// testing/synctest, and if a bound is broken with -race, since a sync.Pool then loses values at
// random. The cost is a trace of these calls: 1.0 to 1.7 times their CPU time, and 5 ms and more to
// begin with, in proportion to the live heap. A failure costs a round that is 5 to 40 times as
// slow, which finds the stacks. Calls of several goroutines take turns.
func AssertAllocs(t TestingT, op func(), opts ...AllocOption) bool {
	environ.NeedT(t, "AssertAllocs")
	t.Helper()
	return alloc.AssertAllocs(assertion.ThisProcess(), t, environ.CallSite(1), op, newAllocRequest(op, opts))
}

// An AllocOption is an AllocBound, Iterations or Warmup. The set is closed.
type AllocOption interface {
	applyAllocs(*alloc.Request)
}

// An AllocBound limits the allocations of one call of an operation. It is an option of
// AssertAllocs.
type AllocBound struct{ of alloc.Bound }

// AllAllocs selects all allocations.
func AllAllocs() AllocSelector { return AllocSelector{} }

// An AllocSelector selects the allocations that a bound applies to. It becomes an AllocOption with
// MaxAllocsPerOp or MaxBytesPerOp.
type AllocSelector struct{}

// MaxAllocsPerOp allows at most n allocations in each call.
func (AllocSelector) MaxAllocsPerOp(n int64) AllocBound { return AllocBound{}.MaxAllocsPerOp(n) }

// MaxBytesPerOp allows at most n bytes in each call, counted in size classes as the Go heap hands
// them out.
func (AllocSelector) MaxBytesPerOp(n int64) AllocBound { return AllocBound{}.MaxBytesPerOp(n) }

// MaxAllocsPerOp allows at most n allocations of the type in each call, for AssertAllocs. The
// Selector must come from Type or TypeNamed.
func (s Selector) MaxAllocsPerOp(n int64) AllocBound {
	return AllocBound{alloc.Bound{Selector: &s.of}}.MaxAllocsPerOp(n)
}

// MaxBytesPerOp allows at most n bytes of the type in each call, for AssertAllocs. The Selector
// must come from Type or TypeNamed.
func (s Selector) MaxBytesPerOp(n int64) AllocBound {
	return AllocBound{alloc.Bound{Selector: &s.of}}.MaxBytesPerOp(n)
}

// MaxAllocsPerOp also allows at most n allocations in each call. The last call counts.
func (b AllocBound) MaxAllocsPerOp(n int64) AllocBound {
	b.of.MaxAllocs = &n
	return b
}

// MaxBytesPerOp also allows at most n bytes in each call. The last call counts.
func (b AllocBound) MaxBytesPerOp(n int64) AllocBound {
	b.of.MaxBytes = &n
	return b
}

// String returns the bound as it is written in a test.
func (b AllocBound) String() string { return b.of.String() }

func (b AllocBound) applyAllocs(r *alloc.Request) { r.Limit(b.of) }

func newAllocRequest(op func(), opts []AllocOption) *alloc.Request {
	r := &alloc.Request{}
	if op == nil {
		r.Problem("AssertAllocs: op is nil")
	}
	eachOption(opts, r.Problem, func(o AllocOption) { o.applyAllocs(r) })
	return r
}
