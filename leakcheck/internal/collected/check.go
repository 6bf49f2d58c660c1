// Package collected finds out whether objects are garbage, and what keeps the others alive.
package collected

import (
	"errors"
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// checkTime says when objects are expected to be garbage.
type checkTime bool

const (
	now   checkTime = false
	atEnd checkTime = true // of the test
)

// maxPaths is how many paths to an object are looked for.
const maxPaths = 4

// A survivor is an object that is not garbage, and what keeps it alive.
type survivor struct {
	*expectation
	*refscan.Retention
	variable string // of an object that is not on the heap: the package variable that it is, or part of
	offHeap  bool
	excused  bool // only references that are no leak hold it, or it died after the last collection
	// index of another survivor on its path, the nearest to the root; -1 if there is none
	holder int
}

// checkCollected waits until all objects are garbage. If some do not become so, it fails the test
// with what holds them. The first snapshot shows which objects only functions registered with
// t.Cleanup hold, for which it does not wait. The others get time before the second snapshot.
func checkCollected(c *assertion.Checker, t environ.TestingT, es []*expectation, when checkTime) bool {
	t.Helper()
	a := c.Begin(t, es[0].at, &request.Request{})
	a.Alone = true
	alive, err := collectAll(a, es)
	o := &assertion.Outcome{Verdict: verdict.Pass}
	if err != nil || len(alive) > 0 {
		o = judgeCollected(a, alive, err, when)
	}
	if o.Verdict == verdict.Pass && when == now {
		var none *refscan.Report
		o.Notes = append(o.Notes, a.Holders(func() string { return "AssertCollected of " + es[0].typ }, es[0].typ, es[0].types, &none)...)
	}
	o.Notes = append(a.Logs, o.Notes...)
	a.Keep(o)
	return o.Report(t)
}

func judgeCollected(a *assertion.Assertion, alive []*expectation, err error, when checkTime) *assertion.Outcome {
	for last := false; ; last = true {
		if err != nil {
			return a.Unknown(err)
		}
		var survivors []*survivor
		if survivors, err = findHolders(a, alive, when); err != nil {
			continue
		}
		o := judgeSurvivors(a, survivors, when)
		if !o.Failed() || last {
			return o
		}
		var pending assertion.PendingTimers
		for _, s := range survivors {
			if s.Retention != nil && len(s.Paths) > 0 {
				pending.Add(s.Paths[0].Name, &s.Paths[0].Root)
			}
		}
		alive, err = awaitCollection(a, alive, pending)
		if err == nil && len(alive) == 0 {
			return &assertion.Outcome{Verdict: verdict.Pass}
		}
	}
}

// awaitCollection waits for the goroutines that are ending, and the timers that are about to fire,
// and returns the objects that are still alive.
func awaitCollection(a *assertion.Assertion, es []*expectation, soon assertion.PendingTimers) (alive []*expectation, err error) {
	alive = es
	for i, wait := range assertion.RetryWaits {
		if i == len(assertion.RetryWaits)-1 {
			a.Pause(wait, soon, 0)
		} else {
			a.Sleep(wait)
		}
		if alive, err = collectAll(a, alive); err != nil || len(alive) == 0 {
			break
		}
	}
	return alive, err
}

// collections is how many garbage collections an object that is in a sync.Pool, or has a finalizer,
// may need.
const collections = 3

// collectAll collects garbage and returns the objects that are still alive.
func collectAll(a *assertion.Assertion, es []*expectation) ([]*expectation, error) {
	ctx, cancel := a.Time.Context()
	defer cancel()
	for range collections {
		if err := observe.Collect(ctx); err != nil {
			if ctx.Err() != nil {
				err = a.Time.Spent("garbage could not be collected", err)
			}
			return nil, err
		}
		var alive []*expectation
		for _, e := range es {
			if !e.isCollected() {
				alive = append(alive, e)
			}
		}
		if es = alive; len(es) == 0 {
			break
		}
	}
	return es, nil
}

// findHolders freezes the process and finds what keeps the objects alive.
func findHolders(a *assertion.Assertion, es []*expectation, when checkTime) ([]*survivor, error) {
	ctx, cancel := a.Time.Context()
	defer cancel()
	var found []*survivor
	err := observe.InSnapshot(func(snapshot observe.Process) error {
		a.Env.Declared = snapshot.Declaration
		// An object that is alive now was alive, and at the same address, when the process was
		// frozen: objects do not move.
		var addresses []uintptr
		for _, e := range es {
			if addr := e.address(); addr != 0 {
				found = append(found, &survivor{expectation: e, holder: -1})
				addresses = append(addresses, addr)
			}
		}
		for i, s := range found {
			if err := s.trace(snapshot.Snapshot, i, addresses, when); err != nil {
				return err
			}
		}
		return nil
	}, refscan.WithContext(ctx), refscan.WithLog(func(format string, args ...any) {
		a.Logs = append(a.Logs, fmt.Sprintf(format, args...))
	}))
	if err != nil {
		return nil, err
	}
	return found, nil
}

// trace finds the paths to the survivor with index i.
func (s *survivor) trace(snapshot *refscan.Snapshot, i int, addresses []uintptr, when checkTime) error {
	hidden := false
	query := refscan.PathQuery{Limit: maxPaths, Watch: addresses}
	if when == atEnd {
		query.Ignore = func(holder, name string) bool {
			if !isTestCleanup(holder, name) {
				return false
			}
			hidden = true
			return true
		}
	}
	r, err := snapshot.Paths(addresses[i], query)
	switch {
	case errors.Is(err, refscan.ErrNotOnHeap):
		s.offHeap, s.variable = true, snapshot.VariableAt(addresses[i])
		return nil
	case errors.Is(err, refscan.ErrNotAlive):
		s.excused = true // it died after the last collection
		return nil
	case err != nil:
		return err
	}
	s.Retention = r
	if len(r.Paths) == 0 {
		if !hidden && !r.Shared {
			return &refscan.UnavailableError{
				Cause:  "the collector found " + s.typ + " alive (" + s.reason + "), but no reference to it was found",
				Remedy: "please report this, with the Go version and what is known of the object",
			}
		}
		s.excused = true
		return nil
	}
	for _, step := range r.Paths[0].Steps {
		if step.Watched > 0 && step.Watched != i+1 {
			s.holder = step.Watched - 1
			break
		}
	}
	return nil
}

// isTestCleanup reports whether a reference is the testing package's to a function that was
// registered with t.Cleanup. The package keeps functions that have run, too, until the test is over
// (testing.common.cleanups, go1.26 testing/testing.go).
func isTestCleanup(holder, name string) bool {
	holder = strings.TrimPrefix(holder, "*")
	return strings.HasPrefix(holder, "testing.") && (name == "cleanups" || strings.HasSuffix(name, ".cleanups") || strings.Contains(name, "cleanups["))
}

func judgeSurvivors(a *assertion.Assertion, all []*survivor, when checkTime) *assertion.Outcome {
	o := &assertion.Outcome{Verdict: verdict.Pass}
	var guilty []*survivor
	for _, s := range all {
		if !s.excused {
			guilty = append(guilty, s)
		}
	}
	if n := len(all) - len(guilty); n > 0 {
		o.Notes = append(o.Notes, textfmt.CountNoun(int64(n), "object")+" still alive, but held by nothing that is a leak: functions registered with Cleanup go when the test is over")
	}
	if len(guilty) == 0 {
		return o
	}
	o.Verdict = verdict.Fail
	o.Message = survivorMessage(a, guilty, all, when)
	for _, s := range guilty {
		o.Bounds = append(o.Bounds, survivorRecord(a, s))
	}
	return o
}

// survivorRecord returns the record of an object that should be garbage, as a bound of 0 objects.
func survivorRecord(a *assertion.Assertion, s *survivor) verdict.Bound {
	none := int64(0)
	b := verdict.Bound{
		Kind: verdict.Collected, Selector: "ExpectCollected: " + s.typ, MaxObjects: &none, Objects: 1, Verdict: verdict.Fail,
		Path: symbol.Unescape(s.variable), Type: s.typ,
	}
	if s.Retention == nil || len(s.Paths) == 0 {
		return b
	}
	b.Bytes = s.RetainedBytes
	if s.Type != "" && !s.Inner {
		b.Type = s.Type
	}
	path := s.Paths[0].Name
	for _, step := range s.Paths[0].Steps {
		if step.Name != "" { // the step to the root variable itself has none
			path = symbol.JoinPath(path, symbol.FoldPath(step.Name))
		}
	}
	b.Path = symbol.Unescape(path)
	b.HeldBy, b.Chain = pathHeldBy(a, s.Paths[0]), message.Chain(tree.TraceOfPath(s.Paths[0]))
	if others, _ := furtherPaths(a, s.Paths); len(others) > 0 {
		b.AlsoHeldBy = others[:2]
	}
	a.Locate(&b, tree.RootOfPath(s.Paths[0]))
	return b
}
