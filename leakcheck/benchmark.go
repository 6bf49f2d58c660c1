package leakcheck

import (
	"testing"

	"github.com/leakgate/leakgate/leakcheck/internal/alloc"
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
