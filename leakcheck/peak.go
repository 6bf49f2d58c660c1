package leakcheck

import (
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/peak"
)

// AssertPeak runs op and fails the test if the live heap grows by more than the bound allows while
// op runs, even if all of that is garbage when op returns.
//
//	leakcheck.AssertPeak(t, func() { report.Export(io.Discard) }, leakcheck.MaxBytes(8<<20))
//
// AssertPeak judges the live heap at the end of each mark phase of the garbage collector, beyond
// the memory that was alive before the call of op. Neither that memory nor garbage counts. While op
// runs, garbage is collected whenever the heap has grown by half of the bound (at 10 % of the
// memory alive before at the soonest, and never later than GOGC says), and again and again for a
// quarter to half of the time. If more is alive than the bound allows, a snapshot is taken at once,
// while op goes on. The message says what holds the memory then, beyond what a snapshot before op
// shows. It also says where the memory was allocated, as far as the memory profiler's samples tell,
// which are taken more densely meanwhile.
//
// The live heap of a mark phase includes everything that was allocated while it marked, garbage or
// not. So a failure has a snapshot that shows more than the bound to be reachable at one instant.
// If the peak is gone by then, it has a mark phase that found more than the bound alive even
// without everything that was allocated from before its start until after its end. The message says
// which.
//
// op is called once if that takes two seconds, or if all that the process allocates meanwhile is no
// more than the bound, which holds then. Otherwise it is called again until 64 mark phases have
// ended while it ran, or half a second has passed in which 8 have. A peak that is shorter than a
// garbage collection, or than a 64th of op, may be missed. If no mark phase ended while op ran, the
// verdict is unknown: have op do more, in a loop. Iterations sets how often op is called, Warmup
// how often before. In a bubble of testing/synctest the verdict is unknown, too: call AssertPeak
// outside, with synctest.Test in op.
//
// The whole process counts, also memory that other goroutines add meanwhile, so call AssertPeak in
// tests that are not parallel. Memory outside of the Go heap, and stacks, do not count. Bytes are
// those of size classes, as the Go heap hands them out.
//
// It returns false if it failed the test, which goes on; it panics if t is nil. A panic of op is
// not caught, and op may end the test with t.FailNow. If op fails the test with t.Error, nothing is
// judged. The cost is a snapshot and its scan before op, as for AssertRetained, two collections for
// each call, and the collections beside op, which take one processor from it for a quarter to half
// of the time. If the bound is exceeded, up to three more snapshots are taken.
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
