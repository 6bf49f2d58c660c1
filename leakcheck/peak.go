package leakcheck

import (
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/peak"
)

// AssertPeak runs op and fails the test if the live heap grows by more than the bound allows while
// op runs, even if all of that is garbage when op returns. The message says what held the memory
// then, and where it was allocated.
//
//	leakcheck.AssertPeak(t, func() { report.Export(io.Discard) }, leakcheck.MaxBytes(8<<20))
//
// AssertPeak judges the live heap at the end of each mark phase of the garbage collector, beyond
// the memory that was alive before op. op is called once if that takes two seconds, or if all that
// the process allocates meanwhile is no more than the bound. Otherwise it is called until 64 mark
// phases have ended while it ran, or half a second has passed in which 8 have. A peak that is
// shorter than a garbage collection, or than a 64th of op, may be missed. If no mark phase ended
// while op ran, and in a bubble of testing/synctest, the verdict is unknown. A mark phase counts
// what is allocated meanwhile as alive; where one found more than the bound, snapshots of further
// calls settle that, or the verdict is unknown. Iterations and Warmup set how often op is called.
// doc/peaks.md has the details.
//
// The whole process counts, so call AssertPeak in tests that are not parallel. It returns false if
// it failed the test, which goes on; it panics if t is nil. A panic of op is not caught. The cost
// is a snapshot and its scan before op, two collections for each call, and collections beside op,
// which take one processor from it for a quarter to half of the time.
func AssertPeak(t TestingT, op func(), bound PeakBound, opts ...PeakOption) bool {
	environ.NeedT(t, "AssertPeak")
	t.Helper()
	r := &peak.Request{}
	if op == nil {
		r.Problem("AssertPeak: op is nil")
	}
	bound.applyPeak(r)
	eachOption(opts, r.Problem, func(o PeakOption) { o.applyPeak(r) })
	return peak.AssertPeak(assertion.ThisProcess(), t, environ.CallSite(1), op, r)
}

// A PeakBound limits the growth of the live heap while an operation runs. MaxBytes makes one.
type PeakBound struct{ most *int64 }

// MaxBytes allows the live heap to grow by at most n bytes while op runs, for AssertPeak.
func MaxBytes(n int64) PeakBound { return PeakBound{&n} }

func (b PeakBound) applyPeak(r *peak.Request) { r.Limit(b.most) }

// A PeakOption is Iterations or Warmup. The set is closed.
type PeakOption interface {
	applyPeak(*peak.Request)
}
