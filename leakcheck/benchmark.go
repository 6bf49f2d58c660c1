package leakcheck

import (
	"testing"

	"github.com/leakgate/leakgate/leakcheck/internal/alloc"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// ReportRetained adds two metrics to the results of a benchmark, retained-B/op and
// retained-objects/op: the memory that an iteration leaves on the heap, on average, for benchstat
// to compare. Call it right before the loop.
//
//	func BenchmarkLogin(b *testing.B) {
//		srv := app.New()
//		b.Cleanup(func() { runtime.KeepAlive(srv) })
//		leakcheck.ReportRetained(b)
//		for b.Loop() {
//			srv.Login().Logout()
//		}
//	}
//
// It compares the heap after garbage collections before and after the loop, outside of the time
// that is measured. Everything on the heap counts, whatever put it there. What only variables of
// the benchmark refer to is garbage by then, unless they are kept as above. Objects on the heap
// that they refer to at the call are kept for them. If what they refer to lies on the stack itself,
// and nothing else is retained, the log says that this does not count. One-time setup counts, too,
// so that its figure falls with the number of iterations; that of a leak does not. AssertNoGrowth
// distinguishes the two and says what holds the memory.
//
// A call in or after a loop of b.Loop fails the benchmark. If it may come after a loop over b.N,
// nothing is reported, and the log says so: little was allocated since, and enough before it.
func ReportRetained(b *testing.B) {
	b.Helper()
	alloc.ReportRetained(b)
}

// ReportAllocs adds a metric to the results of a benchmark for each type, for benchstat to compare:
// how many objects of the type one call of op allocates. The types are given by Type or TypeNamed;
// without any, they are the five with most objects. Call it right before the loop.
//
//	func BenchmarkLogin(b *testing.B) {
//		srv := app.New()
//		login := func() { srv.Login().Logout() }
//		leakcheck.ReportAllocs(b, login, leakcheck.Type[*app.Session]()) // app.Session-allocs/op
//		for b.Loop() {
//			login()
//		}
//	}
//
// op is called some hundred times outside of the time that is measured, as by AssertAllocs, and
// counts are exact for these calls. They are not taken from the loop: the execution tracer of Go
// 1.26 and 1.27 can crash if it records a whole benchmark. If the counts are unknown, the cause is
// in the benchmark's log, and there is no metric. A pattern that no type of the program matches
// fails the benchmark.
func ReportAllocs(b *testing.B, op func(), types ...Selector) {
	b.Helper()
	req := &alloc.Request{}
	if op == nil {
		req.Problem("op is nil")
	}
	for _, s := range types {
		req.Limit(s.MaxAllocsPerOp(0).of)
	}
	alloc.ReportAllocs(assertion.ThisProcess(), b, environ.CallSite(1), op, req)
}
