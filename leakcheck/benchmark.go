package leakcheck

import (
	"testing"

	"github.com/leakgate/leakgate/leakcheck/internal/alloc"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// ReportRetained adds two metrics to the results of a benchmark, retained-B/op and
// retained-objects/op: what an iteration leaves on the heap, on average, so that benchstat compares
// it. Call it right before the loop.
//
//	func BenchmarkLogin(b *testing.B) {
//		srv := app.New()
//		leakcheck.ReportRetained(b)
//		for b.Loop() {
//			srv.Login().Logout()
//		}
//	}
//
// It compares the heap after garbage collections before and after the loop, outside of the time that
// is measured. Everything counts that is on the heap, whoever put it there; what is set up once
// counts, too, so that the figure falls with the number of iterations, where a leak's does not.
// AssertNoGrowth tells these apart and says who holds it.
func ReportRetained(b *testing.B) {
	b.Helper()
	alloc.ReportRetained(b)
}

// ReportAllocs adds a metric to the results of a benchmark for each type, so that benchstat compares
// them: how many objects of it one call of op allocates. The types are given by Type or TypeNamed; with
// none, they are the five of which most objects are allocated. Call it right before the loop.
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
// op is called some hundred times outside of the time that is measured, as by AssertAllocs, and counts
// are exact for these calls. They are not taken from the loop: the execution tracer of Go 1.26 and 1.27
// can crash where it records a whole benchmark. What cannot be told is in the benchmark's log, and there is no
// metric; a pattern that no type of the program matches fails the benchmark.
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
