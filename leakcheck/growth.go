package leakcheck

import (
	"fmt"

	"github.com/leakgate/leakgate/leakcheck/internal/alloc"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/growth"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/peak"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// AssertNoGrowth calls op again and again, and fails if memory grows with the number of calls.
//
//	leakcheck.AssertNoGrowth(t, func() {
//		srv.Login().Logout()
//	})
//
// After some calls to warm up, op is called in batches, each of twice as many calls as the one
// before, with a snapshot between them. The test fails if the objects of a path grow in every batch
// in proportion to its calls or faster, if the bytes of a slice or other memory do so, or if
// goroutines or timers pile up, or a goroutine's stack gets deeper. Memory that is filled once, grows
// slower and slower, or comes and goes is no leak. If op leaves nothing behind, one batch and two snapshots are enough. Before a
// failure there is a fourth batch, and AssertNoGrowth waits for what is still ending: half a
// second, and for timers that fire within two. If not each call added the same number, three to
// nine further batches follow, none of them larger. They distinguish a leak from memory that is as
// large as the largest batch, or twice that by chance: the array of a queue that was as long, or a
// pool with a worker for each call that was under way at once. They also distinguish a leak from a
// buffer that is flushed every so many calls.
//
// If a batch has 50 calls or more, counters may prove without a snapshot that nothing grows:
// between garbage collections before and after one batch, no more than one heap object, map entry,
// goroutine or pending timer in 250 calls is new. That takes 2 to 5 collections. Otherwise the
// snapshots follow. The counters do not know the paths of objects, so with Scope and Ignore, which
// leave some out, and with Iterations, there are snapshots from the start. They also do not see
// objects that only change places, from a list that was full of them before the first call to one
// that keeps them, as long as there are some left: Full does.
//
// A slice with spare capacity takes no more memory until it is full. If calls append to such a
// slice, the next batch has as many calls as fill it, if that takes no longer than 250 ms and no
// more than 1 MiB in the first batch, twice as much in the next. Otherwise a pass logs the name of
// the slice, and how many calls would fill it. Snapshots see all slices of which more is in use
// after each batch. If counters prove that nothing else grows, they see the slices to which calls
// add elements, in each of up to four batches about as many, of package variables and of a heap
// with up to 32 MiB of objects with pointers. With a larger heap a pass logs that such slices were
// not judged.
//
// The number of calls follows from how long op takes. If nothing grows, it is 500 for a fast op,
// and 4 for one that takes a second; before a failure it is 8,000 and 32. Of the 8,000, the batches
// have 500, 1,000, 2,000 and 4,000 if counters proved nothing. Iterations and Warmup override that.
// A cache that is not full after all these calls looks like a leak: give Warmup enough calls to
// fill it, or make it smaller.
//
// Resources of the operating system are judged by the same rule: descriptors, child processes,
// threads, mappings that are neither Go's nor malloc's, and files in the folders for temporary
// files. A resource and the Go objects that stand for it are one finding. Resources are read from
// /proc, in about half a millisecond a snapshot; if there is no /proc, the log says so.
//
// All roots count: package variables, goroutines, finalizers, the test's own variables, and what op
// itself refers to. Memory that the standard library keeps on purpose, such as the idle connections
// of http.DefaultTransport, is logged instead, unless types of other packages are part of it.
// Memory that the testing package keeps until the test ends, such as functions that op registers
// with t.Cleanup, does not count; growth on an object that such a function is to close does. Scope
// and Ignore restrict what counts.
//
// It returns false if it failed the test, which goes on. A panic of op is not caught, and op may
// end the test with t.FailNow. If op fails the test with t.Error, it is not called again. In each
// of these cases growth is not checked, and the log says how many descriptors and goroutines op
// left until then: it may have met a limit because of its leak.
//
// Growth of tests that run at the same time counts too: call AssertNoGrowth in tests that are not
// parallel, or with Scope. Each snapshot costs as much as that of AssertRetained.
func AssertNoGrowth(t TestingT, op func(), opts ...GrowthOption) bool {
	environ.NeedT(t, "AssertNoGrowth")
	t.Helper()
	return growth.AssertNoGrowth(assertion.ThisProcess(), t, environ.CallSite(1), op, newGrowthRequest(op, opts), pile.CountAll, growth.OfThisProcess())
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
	return callSetting{
		problem: problemOf("Iterations(%d): op must be called at least once a batch", n),
		growth:  func(r *request.Request) { r.Iterations = n },
		allocs:  func(r *alloc.Request) { r.Iterations = n },
		peak:    func(r *peak.Request) { r.Iterations = n },
	}
}

// Warmup sets how often AssertNoGrowth calls its op before the first snapshot: at least often
// enough to fill every cache that op uses. Without Warmup, op is called twice at least, and as
// often as in the first batch unless it is slow. AssertAllocs calls op n times before it counts,
// and AssertPeak before it watches.
func Warmup(n int) CallOption {
	return callSetting{
		problem: problemOf("Warmup(%d): op must be called at least once before the first snapshot", n),
		growth:  func(r *request.Request) { r.Warmup = n },
		allocs:  func(r *alloc.Request) { r.Warmup = n },
		peak:    func(r *peak.Request) { r.Warmup = n },
	}
}

type callSetting struct {
	problem string // "" if there is none
	growth  func(*request.Request)
	allocs  func(*alloc.Request)
	peak    func(*peak.Request)
}

func problemOf(format string, n int) string {
	if n < 1 {
		return fmt.Sprintf(format, n)
	}
	return ""
}

func (s callSetting) applyGrowth(r *request.Request) {
	if s.problem != "" {
		r.Problem("%s", s.problem)
	}
	s.growth(r)
}

func (s callSetting) applyAllocs(r *alloc.Request) {
	if s.problem != "" {
		r.Problem("%s", s.problem)
	}
	s.allocs(r)
}

func (s callSetting) applyPeak(r *peak.Request) {
	if s.problem != "" {
		r.Problem("%s", s.problem)
	}
	s.peak(r)
}

func newGrowthRequest(op func(), opts []GrowthOption) *request.Request {
	r := &request.Request{}
	if op == nil {
		r.Problem("AssertNoGrowth: op is nil")
	}
	eachOption(opts, r.Problem, func(o GrowthOption) { o.applyGrowth(r) })
	return r
}
