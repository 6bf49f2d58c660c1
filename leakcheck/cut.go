package leakcheck

import (
	"fmt"

	"github.com/leakgate/leakgate/refscan"
)

// MaxRetainedObjects allows at most n heap objects to be retained by what is selected; see MaxRetainedBytes.
func (s Selector) MaxRetainedObjects(n int64) Bound { return Bound{selector: s}.MaxRetainedObjects(n) }

// MaxRetainedBytes allows at most n bytes of heap to be retained by what is selected: that is what cutting it would
// free. What something else keeps alive, too, would stay, so it does not count; MaxBytes counts it where the
// shortest path to it is. For a root, to cut is to clear the variable; for a path, or a type, to drop the objects there.
//
//	leakcheck.AssertRetained(t, leakcheck.Root("app.cache").MaxRetainedBytes(1<<20))
//
// Where several roots or paths match, each is held to the bound by itself, since what they retain does not add up: two
// roots that share all they have retain nothing, and both together all of it. The message is about the one that
// retains most. Objects of a type are held to the bound together, wherever they are: an object that only two of
// them keep alive counts, and one that lies below another counts once.
//
// Ignore and Since do not go with it: what cutting frees is one figure, and a baseline does not have it. Such
// an assertion scans the heap twice, and takes some 30 bytes an object and 4 a reference meanwhile; see
// refscan.WithRetained, also for what exactly counts.
func (s Selector) MaxRetainedBytes(n int64) Bound { return Bound{selector: s}.MaxRetainedBytes(n) }

// MaxRetainedObjects also allows at most n heap objects to be retained. The last call counts.
func (b Bound) MaxRetainedObjects(n int64) Bound {
	limits := b.cutLimits()
	limits.objects = &n
	b.cut = limits
	return b
}

// MaxRetainedBytes also allows at most n bytes of heap to be retained. The last call counts.
func (b Bound) MaxRetainedBytes(n int64) Bound {
	limits := b.cutLimits()
	limits.bytes = &n
	b.cut = limits
	return b
}

// RetainedRecorded adds to the golden file what each root or path that the selector matches retains by itself,
// a line each:
//
//	1205      4587520~100%  retained:example.com/app.cache                map[string]*example.com/app.Entry
//
// Bytes may double before the test fails, since some of them are nearly always a map's tables or a slice's
// spare capacity. Objects are not counted where a sync.Map's or a sync.Pool's inner nodes are among them.
// What Ignore leaves out has no lines of its own, but counts where something above it is cut.
func (s Selector) RetainedRecorded() Option {
	return setting(func(r *request) {
		if s.kind == 0 || s.err != nil {
			Bound{selector: s}.apply(r) // says what is wrong
			return
		}
		r.cutting().recorded = append(r.cutting().recorded, s)
	})
}

// cutLimits are the bounds on what cutting frees.
type cutLimits struct{ objects, bytes *int64 }

func (b Bound) cutLimits() cutLimits {
	limits, _ := b.cut.(cutLimits)
	return limits
}

// String returns the limits as they are written in a test.
func (l cutLimits) String() string {
	s := ""
	if l.objects != nil {
		s += fmt.Sprintf(".MaxRetainedObjects(%d)", *l.objects)
	}
	if l.bytes != nil {
		s += fmt.Sprintf(".MaxRetainedBytes(%d)", *l.bytes)
	}
	return s
}

func (l cutLimits) request(r *request) {
	if l.objects != nil && *l.objects < 0 || l.bytes != nil && *l.bytes < 0 {
		r.problem("%s: a bound cannot be negative", l)
	}
	r.cutting().bounded = true
}

// cutting makes the assertion find out what cutting frees.
func (r *request) cutting() *cutRequest {
	if r.cuts == nil {
		r.cuts = &cutRequest{check: checkCuts, scan: scanCuts, evaluate: evaluateCuts, note: cutNote}
		r.holders = &elsewhere{}
	}
	return r.cuts
}

func checkCuts(r *request) {
	if len(r.cuts.recorded) > 0 && r.bounded() {
		r.problem("%s.RetainedRecorded() beside a bound: it adds to a golden file, which is compared only where no bound is given; use two assertions",
			r.cuts.recorded[0].shown)
	}
	if r.baseline != nil {
		r.problem("Since beside a bound or line on what is retained: a baseline does not say what cutting would free; use two assertions")
	}
	if r.cuts.bounded && len(r.ignores) > 0 {
		r.problem("Ignore beside MaxRetainedObjects or MaxRetainedBytes: what cutting frees cannot leave out a part; use two assertions")
	}
}

func scanCuts(a *assertion, also func(*refscan.Snapshot) error) func(*refscan.Snapshot) error {
	c := a.req.cuts
	return func(s *refscan.Snapshot) (err error) {
		if also != nil {
			err = also(s)
		}
		if err == nil {
			c.report, err = s.Scan(refscan.WithAllocationSites(), refscan.WithRetainedSets(func(r *refscan.Report) []*refscan.NodeSet {
				return a.typeSets(r)
			}))
		}
		if err == nil && !c.report.Retained {
			err = &refscan.UnavailableError{
				Cause:  "what is retained by what is too complex to be told apart in the memory that a test may take for it",
				Remedy: "bound MaxObjects or MaxBytes instead",
			}
		}
		return err
	}
}
