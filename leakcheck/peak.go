package leakcheck

import (
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/peak"
)

// AssertPeak runs op and fails the test if the live heap grows by more than the bound allows while it
// runs, also if all of that is garbage when op returns.
//
//	leakcheck.AssertPeak(t, func() { report.Export(io.Discard) }, leakcheck.MaxBytes(8<<20))
//
// What is judged is the live heap at the end of each mark phase of the garbage collector, beyond what
// was alive before the call of op: garbage does not count, and what was there before does not. While
// op runs, garbage is collected whenever the heap has grown by half of the bound (at 10 % of what was
// alive before at the soonest, and never later than GOGC says), and again and again for a quarter to
// half of the time. Where more is alive than the bound allows, a snapshot is taken at once, while op
// goes on, and the message says who holds it then, beyond what a snapshot before op shows, and where
// it was allocated, as far as the memory profiler's samples tell, which are taken more densely meanwhile.
//
// What a mark phase finds alive counts what was allocated while it marked, garbage or not. So a
// failure has a snapshot that shows more than the bound to be reachable at one instant; or, where the
// peak is gone by then, a mark phase that found more alive even without all that was allocated from
// before its start until after its end. The message says which.
//
// op is called once if that takes two seconds, or if all that the process allocates meanwhile is no
// more than the bound, which holds then. Otherwise it is called again until 64 mark phases have
// ended while it ran, or half a second has passed in which 8 have. A peak that is shorter than a
// garbage collection, or than a 64th of op, may be missed. Where no mark phase ended while op ran,
// the verdict is unknown: have op do more, in a loop. Iterations sets how often op is called, Warmup
// how often before.
//
// The whole process counts: what other goroutines add meanwhile does, too, so call it in tests that
// are not parallel. Memory outside of the Go heap, and stacks, do not count. Bytes are those of size
// classes, as the Go heap hands them out.
//
// It returns false if it failed the test, which goes on; it panics if t is nil. A panic of op is not
// caught, and op may end the test with t.FailNow; where op fails the test with t.Error, nothing is
// judged. It costs a snapshot and its scan before op, as AssertRetained does, two collections for each
// call, and those beside op, which take it one processor for a quarter to half of the time; where the
// bound is exceeded, up to three more snapshots.
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

// A PeakBound limits by how much an operation may make the live heap grow while it runs. MaxBytes
// makes one.
type PeakBound struct{ most *int64 }

// MaxBytes allows the live heap to grow by at most n bytes while op runs, for AssertPeak.
func MaxBytes(n int64) PeakBound { return PeakBound{&n} }

func (b PeakBound) applyPeak(r *peak.Request) { r.Limit(b.most) }

// A PeakOption is Iterations or Warmup. The set is closed.
type PeakOption interface {
	applyPeak(*peak.Request)
}
