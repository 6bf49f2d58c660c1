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
// The figures are exact: all allocations of the goroutine that calls op count, and those of
// goroutines that op starts. Other goroutines do not count, so that tests may run in parallel; but
// work that op gives to a goroutine from before does not count either. The objects of a type are
// those of that type alone; those of a slice type (Type[[]T]()) are its backing arrays, and all
// arrays of type [n]T, as which the compiler allocates composite literals and the arguments of
// variadic calls; those of a map type are the groups of its entries. Memory without a type that the
// runtime knows, such as strings, counts in AllAllocs. A type that an element of a generic
// function's shape shares, such as Entry[go.shape.int], is matched by that name.
//
// op is called twice to warm up, twice more after a garbage collection, and then 100 times, or as
// often as half a second allows, at least 4 times; Warmup and Iterations override the first and the
// last. A bound is broken if the calls allocate more than 5 % of a call beyond it, and do so in a
// second round, too: one-time setup is no allocation of each call. A smaller excess is logged.
// Garbage collections are put off meanwhile, until 256 MiB are allocated.
//
// Without a bound it compares whole allocations of one call, by type, with the golden file
// <Test>~go1.26.golden in testdata/leakcheck, one for each Go version, as AssertRetained does with
// <Test>.golden. Allocations that only some calls make are logged.
//
// It returns false if it failed the test, which goes on; it panics if t is nil. If the execution
// tracer is in use (go test -trace, a flight recorder), the verdict is unknown, and in a bubble of
// testing/synctest: call AssertAllocs outside, with synctest.Test in op. It is also unknown if a
// bound is broken with -race, since a sync.Pool then loses at random what is put into it;
// outside of leakgate run that skips the rest of the test, as testing.AllocsPerRun's users do. The
// cost is a trace of these calls: 1.0 to 1.7 times their CPU time, and 5 ms and more to begin with,
// in proportion to the live heap (280 ms with a million objects). A failure costs a third round
// with the memory profiler at its highest rate, 5 to 40 times as slow, which finds where each type
// was allocated. Calls of several goroutines take turns.
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
