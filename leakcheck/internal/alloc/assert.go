package alloc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

const (
	// fastCalls is the number of calls of an operation for one recording, unless it is slow;
	// minCalls is the least number.
	fastCalls, minCalls = 100, 4
	// callTime is the maximum duration of these calls, unless minCalls take longer.
	callTime = 500 * time.Millisecond
	warmups  = 2
)

// AssertAllocs calls op, and fails the test if one call allocates more than the bounds allow.
func AssertAllocs(c *assertion.Checker, t environ.TestingT, at environ.Site, op func(), req *Request) bool {
	t.Helper()
	a := c.Begin(t, at, nil)
	a.Alone = true // what other goroutines allocate does not count
	x := &experiment{Assertion: a, op: calls.NewOp(op, a.FailsFromNow(), a.Now), req: req}
	o, err := x.judge()
	switch {
	case err == errOpFailed:
		t.Logf("leakcheck: what op allocates was not checked, because op failed the test")
		return false
	case err != nil:
		o = x.unknown(err)
	}
	a.Keep(o)
	return o.Report(t)
}

type experiment struct {
	*assertion.Assertion
	op  *calls.Op
	req *Request

	calls int           // of op for one recording
	took  time.Duration // duration of that many calls
}

// errOpFailed says that op failed the test.
var errOpFailed = errors.New("op failed the test")

// judge returns an error if the allocations of op cannot be determined.
func (x *experiment) judge() (*assertion.Outcome, error) {
	if len(x.req.Problems) > 0 {
		return assertion.Misuse("%s", strings.Join(x.req.Problems, "\n    ")), nil
	}
	x.warmUp()
	first, err := x.record()
	if err != nil {
		return nil, err
	}
	if len(x.req.Bounds) == 0 {
		return x.judgeGolden(first)
	}
	if problems, err := x.unknownNames(first); err != nil || problems != "" {
		return assertion.Misuse("%s", problems), err
	}
	found := x.find(first)
	if !anyBroken(found) && !anyUnsure(found) {
		return x.pass(found, first), nil
	}
	// Allocations that happen once, in the first calls that need them, are no part of the second
	// recording.
	second, err := x.record()
	if err != nil {
		return nil, err
	}
	before := broken(found, first)
	found = x.find(second)
	switch {
	case anyBroken(found) && RaceDetector:
		return nil, atRandom(strings.Join(broken(found, second), "; "))
	case anyBroken(found):
		return &assertion.Outcome{
			Verdict: verdict.Fail, Bounds: x.records(found, second, verdict.Fail),
			Message: strings.Join(failure(second, found, x.sites(second), x.Env), "\n"),
		}, nil
	case anyUnsure(found):
		return nil, second.sizesUnknown()
	}
	o := x.pass(found, second)
	if len(before) > 0 {
		o.Notes = append(o.Notes, "at first op allocated more: "+strings.Join(before, "; "))
	}
	return o, nil
}

func (x *experiment) pass(found []finding, r *recording) *assertion.Outcome {
	return &assertion.Outcome{Verdict: verdict.Pass, Bounds: x.records(found, r, verdict.Pass), Notes: passed(r, found)}
}

// sites returns the stacks that allocate in another round of calls; nil if there is no time for
// one.
func (x *experiment) sites(r *recording) []*site {
	if !x.Time.Allows(3 * x.took) {
		return nil
	}
	return sites(x.op, x.calls, r.classes, x.Time.Left())
}

// sizesUnknown is the error if a recording does not tell whether a bound holds.
func (r *recording) sizesUnknown() error {
	return &refscan.UnavailableError{
		Cause:  fmt.Sprintf("the sizes of %s are not known: the heap used their pages for other sizes meanwhile", textfmt.CountNoun(r.unsized, "object")),
		Remedy: "let op collect no garbage, or call it less often (Iterations)",
	}
}

// warmUp calls op a few times, and decides how often a recording calls it, and how long that takes.
func (x *experiment) warmUp() {
	n := x.req.Warmup
	if n == 0 {
		n = warmups
	}
	var last time.Duration
	var objects uint64
	for range n {
		before := mallocs()
		last = x.op.Once()
		objects = mallocs() - before
		if x.op.Failed() {
			return
		}
	}
	x.calls = x.req.Iterations
	if x.calls == 0 {
		x.calls = fastCalls
		if last > callTime/fastCalls {
			x.calls = max(minCalls, int(callTime/last))
		}
		x.calls = fewEnough(x.calls, objects)
	}
	x.took = last * time.Duration(x.calls)
}

// record makes a recording if there is time for it. The error is errOpFailed if op has failed the
// test.
func (x *experiment) record() (*recording, error) {
	if x.op.Failed() {
		return nil, errOpFailed
	}
	if snapshot.Padded { // sizes are not those of types, which tell single objects from arrays
		return nil, snapshot.ErrPadded()
	}
	if realtime.InBubble() {
		return nil, assertion.ErrInBubble
	}
	if !x.Time.Allows(2 * x.took) {
		return nil, x.Time.Spent(fmt.Sprintf("op was to be called %s, which takes %s", textfmt.CountNoun(int64(x.calls), "time"), x.took.Round(time.Millisecond)), nil)
	}
	r, err := record(x.op, x.calls, x.Time.Left())
	if x.op.Failed() {
		return nil, errOpFailed
	}
	return r, err
}

// An untoldError is an unknown verdict for which the test is skipped, as on a system without
// snapshots.
type untoldError struct{ of refscan.UnavailableError }

func (e *untoldError) Error() string { return e.of.Error() }

func (e *untoldError) Unwrap() error { return &e.of }

func (e *untoldError) Is(target error) bool { return target == errors.ErrUnsupported }

func (x *experiment) unknown(err error) *assertion.Outcome {
	o := x.Unknown(err)
	o.Message = assertion.UnknownMessage(err, o.Failed(), "what is allocated")
	return o
}

// A finding is a bound and the sum of the allocations that count for it.
type finding struct {
	bound  *Bound
	sum    row
	broken bool
	unsure bool // it is unknown whether the bound is broken, because sizes are unknown
}

func (x *experiment) find(r *recording) (found []finding) {
	for i := range x.req.Bounds {
		found = append(found, x.req.Bounds[i].judge(r))
	}
	return found
}

// judge compares the allocations of a recording with a bound.
func (b *Bound) judge(r *recording) finding {
	slack := excess(r.calls, r.collected)
	f := finding{bound: b, sum: b.counts(r.rows)}
	f.broken = b.broken(f.sum, r.calls, slack)
	counted, others := b.uncertainObjects(r.rows)
	switch {
	case counted+others <= slack:
	case b.Selector == nil:
		// The number of objects is certain. The number of bytes is a lower limit.
		f.unsure = !f.broken && b.MaxBytes != nil
	default:
		objects := *b
		objects.MaxBytes = nil
		least, most := f.sum, f.sum
		least.objects -= counted
		most.objects += others
		f.broken = objects.broken(least, r.calls, slack)
		f.unsure = !f.broken && (b.MaxBytes != nil || objects.broken(most, r.calls, slack) || objects.broken(f.sum, r.calls, slack))
	}
	return f
}

func anyBroken(found []finding) bool {
	return slices.ContainsFunc(found, func(f finding) bool { return f.broken })
}

func anyUnsure(found []finding) bool {
	return slices.ContainsFunc(found, func(f finding) bool { return f.unsure })
}

// unknownNames returns the problems of bounds for types that the program does not have. A type of
// which something was allocated exists.
func (x *experiment) unknownNames(r *recording) (problems string, err error) {
	for i := range x.req.Bounds {
		b := &x.req.Bounds[i]
		if err := b.untoldArguments(r.rows); err != nil {
			return "", err
		}
		if b.Selector == nil || b.Selector.Object != nil || b.counts(r.rows).objects > 0 {
			continue
		}
		obs, err := x.ObserveInTime(observe.Needs{Heap: true})
		if err != nil {
			return "", err
		}
		if !b.Selector.Known(obs.Names) {
			return check.NothingMeant(b.shown(), b.Selector, tree.Scope{}, &check.Seen{Observation: obs}), nil
		}
	}
	return "", nil
}

// records returns the bounds for result.json. The figures are those of one call, rounded up.
func (x *experiment) records(found []finding, r *recording, all verdict.Verdict) (list []verdict.Bound) {
	n := int64(r.calls)
	for _, f := range found {
		v := verdict.Pass
		if f.broken {
			v = all
		}
		b := verdict.Bound{
			Kind: verdict.Allocs, Selector: "AssertAllocs: " + f.bound.recorded(), MaxObjects: f.bound.MaxAllocs, MaxBytes: f.bound.MaxBytes,
			Objects: (f.sum.objects + n - 1) / n, Bytes: (f.sum.bytes + n - 1) / n, Verdict: v,
			Growth: f.text(r),
		}
		list = append(list, b)
	}
	return list
}
